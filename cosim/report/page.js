// Draws the figures of the report in the colours of the page, and serves its few buttons.
(() => {
  "use strict";
  const { figures, dark } = JSON.parse(document.getElementById("data").textContent);
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const touch = matchMedia("(pointer: coarse)");
  const chosen = { usage: 0, gantt: 0 };
  const plots = [...document.querySelectorAll(".plot")];
  const gantt = document.querySelector('.plot[data-figure="gantt"]');

  const nameOf = (plot) => {
    const name = plot.dataset.figure;
    return name in chosen ? `${name}/${chosen[name]}` : name;
  };

  // A copy in the page's colours. Plotly writes into what it is given, so the original stays for the next drawing.
  const coloured = (value) => {
    if (typeof value === "string") return (prefersDark.matches && dark[value]) || value;
    if (Array.isArray(value)) return typeof value[0] === "object" ? value.map(coloured) : value.slice();
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, coloured(part)]));
  };

  const draw = (plot) => {
    const { data, layout, config } = coloured(figures[nameOf(plot)]);
    if (narrow.matches) layout.margin = { ...layout.margin, l: 44, r: 8 };
    // A finger that moves over a figure scrolls the page; only the Gantt view is there to be moved.
    if (touch.matches && plot !== gantt) layout.dragmode = false;
    return Plotly.react(plot, data, layout, config);
  };

  const drawAll = () => plots.forEach(draw);

  for (const input of document.querySelectorAll(".choice input")) {
    input.addEventListener("change", () => {
      chosen[input.name] = Number(input.value);
      draw(document.querySelector(`.plot[data-figure="${input.name}"]`));
      for (const note of document.querySelectorAll(`[data-note^="${input.name}/"]`)) {
        note.hidden = note.dataset.note !== `${input.name}/${input.value}`;
      }
    });
  }

  // Plotly hands the range of a date axis back as text, in UTC.
  const number = (at) => (typeof at === "string" ? Date.parse(`${at.replace(" ", "T")}Z`) : at);

  // Moves the Gantt view to the interruption before or after its middle, or shows all that is drawn.
  const go = (step) => {
    const { window: whole, stops, near } = figures[nameOf(gantt)].layout.meta;
    const [low, high] = gantt.layout.xaxis.range.map(number);
    const middle = (low + high) / 2;
    const grain = near / 1e4;
    const stop = step > 0 ? stops.find((at) => at > middle + grain) : stops.findLast((at) => at < middle - grain);
    if (step !== 0 && stop === undefined) return;
    const half = Math.min(high - low, near) / 2;
    Plotly.relayout(gantt, { "xaxis.range": step === 0 ? whole.slice() : [stop - half, stop + half] });
  };

  for (const button of document.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => go(Number(button.dataset.go)));
  }

  // The wheel alone scrolls the page, as everywhere else in it.
  gantt.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  }, { capture: true, passive: true });

  prefersDark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();
