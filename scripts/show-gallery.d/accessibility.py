# Checks a page for people who use a keyboard or a screen reader, or see less: with axe-core where it is at hand, and with a
# few rules of its own.
import os

RULES = """[...document.querySelectorAll('button, input, [role=button], dialog[open], nav, main')]
  .filter(e => e.checkVisibility() && e.type != 'file')
  .filter(e => !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim()
    || e.querySelector('h2')?.textContent || e.querySelector('svg title')))
  .map(e => 'without a name: ' + e.outerHTML.slice(0, 90))"""


class Accessibility:
    """`axe` is the path of axe.min.js, or empty."""

    def __init__(self, axe):
        self.source = open(axe, encoding="utf-8").read() if axe and os.path.exists(axe) else None

    @property
    def name(self):
        return "axe-core and own rules" if self.source else "own rules only: axe-core is not at hand"

    def check(self, tab, what):
        faults = tab.run(RULES)
        if self.source:
            if not tab.run("!!window.axe"):
                tab.browser.call("Runtime.evaluate", expression=self.source)
            faults += tab.run("""axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.flatMap(
              rule => rule.nodes.map(node => rule.id + ': ' + node.html.slice(0, 140) + ' ' + (node.any[0]?.message ?? ''))))""")
        if faults:
            raise SystemExit(f"accessibility of {what}:\n" + "\n".join(faults[:12]))
