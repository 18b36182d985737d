--[[
Tierwise's job_submit.lua: writes what a job asks of Tierwise into its admin_comment, and keeps the site's limits.

Runs inside slurmctld, under its locks: it opens nothing and runs nothing while a job is submitted. It trusts nothing
that comes with the job, since a user can send any SPANK environment. Where Tierwise itself goes wrong the job goes on,
as an ordinary one.

Beside this file may lie, read when slurmctld loads it (which it does again when this file's time changes):
  tierwise_limits.lua   who may ask for what; see limits.py, which writes it. Without it nobody may ask for the
                        options that are `restricted`, and everybody for the others.
  job_submit_site.lua   the site's own functions, which are called first. Or the site's job_submit.lua stays where it
                        is and ends with dofile("/path/to/this/file").
]]

-- Replaced by the table of options when installed; see lua_table.py.
local OPTIONS = {} --@OPTIONS@

local ACCESS_DENIED = 2002 -- ESLURM_ACCESS_DENIED: the same in all releases, but Lua has no name for it
local MOST_VARIABLES = 512 -- of the SPANK environment; a job with all options has 30
local LONGEST_TEXT = 512 -- bytes of an administrator's own admin_comment that the record keeps
local DEFAULT_LIMITS = { options = {}, trusted_uids = { [0] = true } }

local folder = (debug.getinfo(1, "S").source:match("^@(.*/)")) or "./"
local complained = false

local function complain_once(message)
   if not complained then
      complained = true
      slurm.log_error("tierwise: %s", tostring(message):gsub("[^\32-\126]", "?"):sub(1, 400))
   end
end

local function exists(path)
   local file = io.open(path, "r")
   if file then file:close() end
   return file ~= nil
end

-- A limits file is data: it sees no function and no global.
local function load_limits()
   local path = folder .. "tierwise_limits.lua"
   if not exists(path) then return DEFAULT_LIMITS end
   local ok, limits = pcall(function()
      local chunk, problem
      if setfenv then
         chunk, problem = loadfile(path)
         if chunk then setfenv(chunk, {}) end
      else
         chunk, problem = loadfile(path, "t", {})
      end
      local found = assert(chunk, problem)()
      assert(type(found) == "table" and found.version == 1 and type(found.options) == "table", "not version 1")
      found.trusted_uids = found.trusted_uids or DEFAULT_LIMITS.trusted_uids
      return found
   end)
   if ok then return limits end
   complain_once("tierwise_limits.lua is not used: " .. tostring(limits))
   return DEFAULT_LIMITS
end

-- Whether a value has the canonical form and lies in the bounds: the plugin sends nothing else.
local function is_canonical(option, value)
   if option.words[value] then return true end
   if option.kind == "name" then return #value <= option.longest and value:find("^[A-Za-z0-9][A-Za-z0-9._-]*$") ~= nil end
   if option.kind == "choice" or #value > 20 or value:find("^0%d") then return false end
   local plain = value:find("^%d+$")
   local decimals = option.kind == "time" and value:find("^%d+%.%d?%d?[1-9]$")
   if not plain and not decimals then return false end
   local number = tonumber(value)
   return number >= option.minimum and number <= option.maximum
end

local function quoted(text)
   local escaped = text:sub(1, LONGEST_TEXT):gsub('[%c"\\\127-\255]', function(char)
      if char == '"' or char == "\\" then return "\\" .. char end
      local byte = char:byte()
      return byte < 32 and string.format("\\u%04x", byte) or "?"
   end)
   return '"' .. escaped .. '"'
end

-- The canonical values in a job's SPANK environment, by key. The first of several counts.
local function asked(job_desc)
   local values, environment = {}, job_desc.spank_job_env
   if type(environment) ~= "table" then return values end
   for index = 0, MOST_VARIABLES do
      local entry = environment[index]
      if entry == nil and index > 0 then break end -- some releases may count from 1
      local name, value = tostring(entry or ""):match("^(TIERWISE_[A-Z_]+)=(.*)$")
      local option = name and OPTIONS[name]
      if option and not values[option.key] then
         if is_canonical(option, value) then
            values[option.key] = value
         else
            slurm.log_info("tierwise: %s: %s is not canonical and is left out", name, quoted(value:sub(1, 40)))
         end
      end
   end
   return values
end

local function record(values, text)
   local parts = { '"tierwise":1' }
   for _, name in ipairs(OPTIONS) do
      local option = OPTIONS[name]
      local value = values[option.key]
      if value then
         local written = value:find("^%d") and option.kind ~= "name" and value or quoted(value)
         parts[#parts + 1] = string.format('"%s":%s', option.key, written)
      end
   end
   if text ~= "" then parts[#parts + 1] = '"text":' .. quoted(text) end
   return "{" .. table.concat(parts, ",") .. "}"
end

-- The values in a record that this file wrote.
local function recorded(text)
   local values = {}
   if text:find('^{"tierwise":1[,}]') then
      for _, name in ipairs(OPTIONS) do
         local option = OPTIONS[name]
         local value = text:match('"' .. option.key .. '":"?([A-Za-z0-9._-]+)')
         if value and is_canonical(option, value) then values[option.key] = value end
      end
   end
   return values
end

local function default_partition(part_list)
   for name, partition in pairs(part_list or {}) do
      if partition.flag_default == 1 then return partition.name or name end
   end
   return ""
end

-- The job as rules see it, once for each partition that it may run in.
local function faces(job_desc, job_rec, part_list, uid)
   local function field(name, fallback)
      local value = job_desc[name]
      if value == nil or value == "" then value = job_rec and job_rec[name] or job_desc[fallback] end
      return value or ""
   end
   local partitions = field("partition", "")
   if partitions == "" then partitions = default_partition(part_list) end
   local found = {}
   for partition in (partitions .. ","):gmatch("([^,]*),") do
      found[#found + 1] = {
         uid = job_rec and job_rec.user_id or job_desc.user_id or uid,
         user = field("user_name", ""),
         account = field("account", "default_account"),
         qos = field("qos", "default_qos"),
         partition = partition,
      }
   end
   return found
end

local function matches(rule, face)
   for _, name in ipairs({ "uid", "user", "account", "qos", "partition" }) do
      if rule[name] ~= nil and rule[name] ~= face[name] then return false end
   end
   return true
end

-- What holds for a job: each field as the first rule that matches and has it says.
local function settled(rules, face)
   local found = {}
   for _, rule in ipairs(rules or {}) do
      if matches(rule, face) then
         for _, name in ipairs({ "allow", "minimum", "maximum", "words" }) do
            if found[name] == nil then found[name] = rule[name] end
         end
      end
   end
   return found
end

-- Why a value is not permitted; nil where it is.
local function objection(option, value, face, limits)
   local rule, number = settled(limits.options[option.key], face), tonumber(value)
   local unit = option.kind == "time" and " s" or " bytes"
   if rule.allow == false or (rule.allow == nil and option.restricted) then return "is not permitted here" end
   if number and rule.minimum and number < rule.minimum then return "must be at least " .. rule.minimum .. unit end
   if number and rule.maximum and number > rule.maximum then return "must be at most " .. rule.maximum .. unit end
   if rule.words and not rule.words[value] then return value .. " is not permitted here" end
   return nil
end

local function described(face)
   local parts = {}
   for _, name in ipairs({ "user", "account", "partition", "qos" }) do
      if face[name] ~= "" then parts[#parts + 1] = name .. " " .. face[name] end
   end
   return table.concat(parts, ", ")
end

-- One line for the user; nil where all is permitted.
local function refusal(values, faces_of_job, limits)
   for _, name in ipairs(OPTIONS) do
      local option = OPTIONS[name]
      for _, face in ipairs(values[option.key] and faces_of_job or {}) do
         local why = objection(option, values[option.key], face, limits)
         if why then
            return string.format("tierwise: --%s: %s (%s)", option.flag, why, described(face))
         end
      end
   end
   return nil
end

local limits = load_limits()

local function forged(text, uid)
   return text ~= nil and text ~= "" and not limits.trusted_uids[uid]
end

local function submit(job_desc, part_list, uid)
   local values, text = asked(job_desc), job_desc.admin_comment or ""
   if next(values) == nil then
      -- What a site's own function wrote may hold a user's words: it must not look like a record.
      if text:find("^%s*{") and not limits.trusted_uids[uid] then job_desc.admin_comment = record(values, text) end
      return slurm.SUCCESS
   end
   local problem = refusal(values, faces(job_desc, nil, part_list, uid), limits)
   if problem then
      slurm.log_user("%s", problem)
      return ACCESS_DENIED
   end
   job_desc.admin_comment = record(values, text)
   return slurm.SUCCESS
end

local function modify(job_desc, job_rec, part_list, uid)
   local now, wanted = job_rec.admin_comment or "", job_desc.admin_comment
   if forged(wanted, uid) and (now:find('^{"tierwise"') or wanted:find("^%s*{")) then
      job_desc.admin_comment = now
      slurm.log_user("tierwise: AdminComment holds Tierwise's record and stays as it is")
   end
   if job_desc.partition or job_desc.account or job_desc.qos then
      local problem = refusal(recorded(now), faces(job_desc, job_rec, part_list, uid), limits)
      if problem then
         slurm.log_user("%s", problem)
         return ACCESS_DENIED
      end
   end
   return slurm.SUCCESS
end

-- Ours must not keep a job from running; what the site's own functions do is the site's.
local function guarded(action, ...)
   local ok, code = pcall(action, ...)
   if ok then return code end
   complain_once(code)
   return slurm.SUCCESS
end

if not slurm_job_submit and exists(folder .. "job_submit_site.lua") then dofile(folder .. "job_submit_site.lua") end
local site_submit, site_modify = slurm_job_submit, slurm_job_modify

function slurm_job_submit(job_desc, part_list, submit_uid)
   if forged(job_desc.admin_comment, submit_uid) then job_desc.admin_comment = "" end
   local code = site_submit and site_submit(job_desc, part_list, submit_uid) or slurm.SUCCESS
   if code ~= slurm.SUCCESS then return code end
   return guarded(submit, job_desc, part_list, submit_uid)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   local code = site_modify and site_modify(job_desc, job_rec, part_list, modify_uid) or slurm.SUCCESS
   if code ~= slurm.SUCCESS then return code end
   return guarded(modify, job_desc, job_rec, part_list, modify_uid)
end

slurm.log_info("tierwise: job_submit.lua is loaded, limits %s", limits == DEFAULT_LIMITS and "by default" or "from file")
