"""Style sheets: denser than the template's, with the theme's colours as variables."""

from __future__ import annotations

from html import escape

from app.model.paths import ASSETS
from app.widgets.palette import DARK, FONT, LIGHT, Theme

LINK = """
.bk-btn { background: none !important; border: none !important; text-align: left;
  padding: 1px 0; min-height: 22px; color: var(--sw-faint) !important;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bk-btn:hover { color: var(--sw-text) !important; }
"""


def variables(theme: Theme) -> str:
    """The theme's colours, and the font, as variables that style sheets read."""
    return f"""--sw-text: {theme.text}; --sw-faint: {theme.faint}; --sw-grid: {theme.grid};
  --sw-panel: {theme.panel}; --sw-page: {theme.page}; --sw-hover: {theme.hover};
  --sw-alarm: {theme.alarm}; --sw-accent: {theme.accent}; --sw-focus: {theme.text};
  --sw-font: {FONT};"""


def page_css() -> str:
    """Variables that components read in either theme, and the layout of the page."""
    return f"""{(ASSETS / "tokens.css").read_text("utf-8")}
:root {{ {variables(LIGHT)} color-scheme: light; }}
:root[data-theme=dark] {{ {variables(DARK)} color-scheme: dark; }}
:root {{ --background-color: var(--sw-page); }}
html {{ background: var(--sw-page) !important; }}
body {{ font-family: {FONT}; background: var(--sw-page); color: var(--sw-text); }}
#container {{ height: 100vh; }}
#header {{ min-height: 40px; height: auto; padding: 0 8px; box-shadow: 2px 2px 10px #0004;
  background: var(--header-background); color: var(--header-color); z-index: 10;
  --sw-focus: #fff; }}  /* the ring of what is focused, in the buttons' own trees too */
#header .title {{ font-size: 19px; font-weight: 650; letter-spacing: .3px; margin: 0 0 0 8px;
  line-height: 1.3; }}
#header button {{ font: inherit; color: #fff; background: none; border: 0; border-radius: 4px;
  cursor: pointer; flex: none; }}
#header :focus-visible {{ outline-color: #fff; }}
#theme-button {{ font-size: 20px !important; padding: 2px 10px; }}
#sidebar-button .pn-bar {{ display: block; background: #fff; }}
#header-items {{ min-width: 0; overflow-x: auto; scrollbar-width: none; }}
.coming {{ color: var(--sw-faint); font: 14px/1.4 var(--sw-font); }}
.coming p {{ margin: 60px 10px 120px; }}
.coming img {{ width: 72%; opacity: .4; filter: grayscale(1); }}
.coming .verdict-ahead {{ margin: 72px 10px 0; color: var(--sw-text); font-weight: 650; }}
.coming .verdict-ahead + p {{ margin-top: 4px; }}
.coming.first p + p {{ margin-bottom: 60px; }}
.coming.first img {{ opacity: .7; filter: none; }}
[data-theme=dark] .coming.first img {{ filter: invert(.9) hue-rotate(180deg); }}
#content {{ flex: 1 1 0; min-height: 0; height: auto; }}
#content, #main, #sidebar {{ box-sizing: border-box; }}
#main, #sidebar {{ height: 100%; }}
#main {{ min-width: 0; }}
#main:focus {{ outline: none; }}
.skip {{ position: fixed; left: 8px; top: -60px; z-index: 99; padding: 8px 14px; border-radius: 4px;
  background: var(--sw-panel); color: var(--sw-text); }}
.skip:focus {{ top: 4px; }}
#main {{ padding: 8px; background: var(--sw-page); }}
#sidebar.hidden {{ display: none; }}
#sidebar {{ background: var(--sw-panel); padding: 4px 0; border-right: 1px solid var(--sw-grid); }}
.bk-Tooltip {{ right: 6px; width: fit-content; max-width: 340px; }}
#pn-Modal {{ display: none; position: fixed; inset: 0; z-index: 1000; background: #0009;
  overflow: auto; }}
.pn-modal-content {{ position: relative; box-sizing: border-box; width: min(700px, 98vw);
  max-height: 94vh; margin: 3vh auto; overflow: auto; border-radius: 6px;
  background: var(--sw-panel); padding: 10px 14px 14px; }}
.pn-modal-close {{ position: absolute; top: 6px; right: 6px; margin: 0; z-index: 1; border: 0;
  min-width: 32px; min-height: 32px; font-size: 20px; border-radius: 4px; cursor: pointer;
  background: var(--sw-hover); color: var(--sw-text); }}
@media (max-width: 800px) {{
  #content {{ position: relative; }}
  #sidebar:not(.hidden) {{ position: absolute; z-index: 50; top: 0; bottom: 0; height: auto;
    box-shadow: 4px 0 16px #0006; }}
  #main {{ padding: 6px; }}
  #header-items {{ flex: 1 1 auto; padding: 0; }}
}}
@media print {{
  @page {{ size: A4 landscape; margin: 9mm; }}
  html, body, #main {{ background: none !important; }}
  html, body, #container, #content, #main {{ display: block; height: auto; width: auto;
    overflow: visible; }}
  #main {{ width: var(--sw-wide, auto); zoom: var(--sw-paper, 1); padding: 0; }}
  #header, #sidebar, #pn-Modal, .skip, .connection-lost {{ display: none !important; }}
}}
"""


BOX = """
:host(.box) { background: var(--sw-panel); border: 1px solid var(--sw-grid); border-radius: 6px;
  padding: 5px 4px 2px; margin: 0 0 8px 0; }
:host(.stepper) { position: sticky; top: -8px; z-index: 20; padding: 2px 4px;
  border-radius: 6px 6px 0 0; margin: 0; }  /* #main has 8px over what is in it */
:host(.story-box) { border-top: none; border-radius: 0 0 6px 6px; }
:host([data-presented]) { position: fixed; visibility: visible; z-index: 30; margin: 0;
  left: 6px; width: calc(100vw - 12px); max-width: none; top: var(--sw-top); box-sizing: border-box;
  height: var(--sw-high); overflow: hidden auto; }  /* where, `presenter.js` says */
:host([data-presented=first]) { z-index: 29; box-shadow: 0 0 0 200vmax var(--sw-page); }
"""

TIP = """
.term { text-decoration: underline dotted 1px var(--sw-faint);
  text-underline-offset: 2px; cursor: help; anchor-name: --term; anchor-scope: --term; }
.term.term { margin: 0; color: inherit; font-size: inherit; }
.term:focus-visible { outline: 2px solid var(--sw-accent); outline-offset: 1px;
  border-radius: 2px; }
.term::after { content: attr(data-tip); display: none; position: fixed; z-index: 3000;
  box-sizing: border-box; width: max-content; max-width: 290px; padding: 6px 9px;
  margin: 1.35em 0 0; white-space: normal; text-align: left; pointer-events: none;
  font: 400 12px/1.4 var(--sw-font); letter-spacing: 0; text-transform: none;
  color: var(--sw-text); background: var(--sw-panel); border: 1px solid var(--sw-faint);
  border-radius: 5px; box-shadow: 0 3px 14px rgba(0, 0, 0, .28); }
.term:hover::after, .term:focus-visible::after { display: block; }
@supports (position-area: bottom) {
  .term::after { position-anchor: --term; position-area: bottom span-right; margin: 4px 0;
    position-try-fallbacks: flip-block, flip-inline, flip-block flip-inline; }
}
"""

PLAIN = """
:host { font: var(--sw-large, 12px) var(--sw-font); color: var(--sw-text); }
h2 { margin: 0; font-size: 11px; font-weight: 700; text-transform: uppercase;
  letter-spacing: .6px; color: var(--sw-faint); border-top: 1px solid var(--sw-grid);
  padding-top: 7px; }
.caution { font-size: 11px; line-height: 1.3; color: var(--sw-faint);
  border-left: 3px solid #E69F00;
  padding-left: 6px; margin: 4px 0 2px; }
.faint { color: var(--sw-faint); font-size: 11px; line-height: 1.35; }
label { font-size: 11.5px; color: var(--sw-faint); }
.wrong { color: var(--sw-alarm); font-weight: 600; }
"""

LEGEND = """
.legend { display: flex; flex-wrap: wrap; gap: 2px 12px; }
.legend span { white-space: nowrap; }
.legend i { display: inline-block; width: 16px; height: 11px; margin-right: 5px;
  border-radius: 2px; vertical-align: -1px; }
.title { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.title b, .legend b { font-size: var(--sw-large, 12.5px); }
.title span { color: var(--sw-faint); margin-left: 8px; }
"""

WORKING = """
.working { line-height: 1.5; }
.spin { display: inline-block; width: 9px; height: 9px; margin-right: 6px; border-radius: 50%;
  border: 2px solid #0072B2; border-right-color: transparent; animation: turn 1s linear infinite; }
@keyframes turn { to { transform: rotate(360deg); } }
"""

TEXT = (
    TIP
    + PLAIN
    + LEGEND
    + WORKING
    + """
h2.first { border-top: 0; }
pre { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; line-height: 1.5;
  white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
.notice { padding: 6px 10px; border-left: 5px solid #E69F00; background: var(--sw-panel);
  border-radius: 4px; line-height: 1.45; }
.infeasible { border-left-color: #D55E00; }
.glossary dt { font-weight: 650; margin-top: 7px; }
.glossary dd { margin: 1px 0 0 0; line-height: 1.4; color: var(--sw-faint); }
"""
)
"""All that our words need. What is on every page takes the parts it needs: each is sent once more
for each component that has it."""

KEYS = """
h2 { font-size: 15px; margin: 12px 0 4px; }
table { border: 0 !important; border-collapse: collapse; font-size: 12.5px; width: 100%; }
th { text-align: left; color: var(--sw-faint); }
th, td { border: 0; border-bottom: 1px solid var(--sw-grid); padding: 3px 8px 3px 0; }
code { color: var(--sw-text); background: var(--sw-hover); border-radius: 3px; padding: 1px 5px; }
"""

SMALL = """
:host { --type-ramp-base-font-size: 12.5px; font-size: 12.5px; }
.bk-btn { padding: 3px 8px; font-size: 12px; min-height: 28px; height: auto; line-height: 1.3; }
"""

FIELD = """
:host { --type-ramp-base-font-size: 12.5px; font-size: 12.5px; }
label, .bk-input-group > label { font-size: 11.5px; margin: 0 0 1px 0; color: var(--sw-faint); }
.bk-input, select.bk-input { min-height: 28px; height: 28px; padding: 2px 8px; font-size: 12.5px; }
select.bk-input { text-overflow: ellipsis; padding-right: 22px; }
"""

CHOICES = (
    SMALL
    + """
.bk-btn-group > button.bk-btn { padding: 2px 8px; min-height: 24px; font-size: 11.5px; }
.bk-btn-group > button.bk-btn:not(:only-child):not(.bk-active) { color: var(--sw-faint); }
.bk-input-group:has(> button.bk-btn) > label:empty { display: none; }
"""
)

COMPACT = (
    FIELD
    + CHOICES
    + """
.bk-input-group > button.bk-btn { padding: 0; min-height: 24px; font-size: 11.5px; }
.bk-input-group > button.bk-btn > a { padding: 2px 8px; font-size: 11.5px; line-height: 1.4286; }
"""
)
"""Widgets of any kind, denser than the template's; `SMALL` is for buttons, `FIELD` for fields,
`CHOICES` for groups of buttons."""

BUDGET = """
.bk-btn { white-space: pre-line; text-align: center; padding: 2px 2px; font-size: 11.5px;
  line-height: 1.25; }
"""

TICKS = """
.ticks span.first { transform: none; border-image: none; border-top-color: transparent; }
.ticks span.last { transform: translateX(-100%); border-image: none;
  border-top-color: transparent; }
.ticks { position: relative; height: 13px; font-size: 9.5px; color: var(--sw-faint); }
.ticks span { position: absolute; transform: translateX(-50%); white-space: nowrap;
  border-top: 4px solid var(--sw-faint); border-image: linear-gradient(to right, transparent
  calc(50% - 1px), currentColor 0, currentColor calc(50% + 1px), transparent 0) 1; }
"""

PLOT = """
.quiet, .key { color: var(--sw-faint); font-size: 11px; margin: 3px 0 2px; }
.key b { color: var(--sw-accent); } .key i { color: var(--sw-alarm); font-style: normal; }
.tick { font-size: 10px; fill: var(--sw-faint); }
.gap { font-size: 11px; fill: var(--sw-text); font-weight: 650; }
.axis { fill: none; stroke: var(--sw-faint); }
"""


def wrong_html(error: Exception) -> str:
    """What is wrong with the input."""
    return f'<span class="wrong" role="alert">{escape(str(error))}</span>'
