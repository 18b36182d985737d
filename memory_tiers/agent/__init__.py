"""The node agent: looks at the jobs' pages, asks the policy, carries its plan out, and undoes itself when it ends."""
