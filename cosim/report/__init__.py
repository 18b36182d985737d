"""The report of a replay: one HTML page that a browser shows without any network access.

`write_report` is the way in. `comparison` makes the table and the sentences, `usage`, `curves`, `window` and
`placement` reduce a replay to what can be drawn, `figures` and `gantt` make plotly figures of that, and `page` puts
all of it into one file.
"""

from cosim.report.page import write_report

__all__ = ["write_report"]
