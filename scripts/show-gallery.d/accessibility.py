# Checks a page for people who use a keyboard or a screen reader, or see less: with axe-core where it is at hand, and with a
# few rules of its own. axe-core can't compute contrast with CSS's mixed colours, so that is one of them.
import os

NAMES = """[...document.querySelectorAll('button, input, [role=button], dialog[open], nav, main')]
  .filter(e => e.checkVisibility() && e.type != 'file')
  .filter(e => !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim()))
  .map(e => 'without a name: ' + e.outerHTML.slice(0, 90))"""

# WCAG 2.2, 1.4.3: 4.5 to 1, or 3 to 1 for large text. Text on pictures has a shadow or a ground of its own, and is left out.
CONTRAST = """(() => {
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true})
  const rgba = color => {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = color
    context.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data
    return [r, g, b, a / 255]
  }
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1)
  const ground = element => {
    if (!element) return [255, 255, 255, 1]
    const color = rgba(getComputedStyle(element).backgroundColor)
    return color[3] === 1 ? color : over(color, ground(element.parentElement))
  }
  const light = color => {
    const [r, g, b] = color.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    return .2126 * r + .7152 * g + .0722 * b
  }
  const faults = []
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('.cell, .stage, #scrubber') || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue
    const hasText = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    if (!hasText && !element.placeholder) continue
    const style = getComputedStyle(element, element.placeholder ? '::placeholder' : null), below = ground(element)
    const [high, low] = [light(over(rgba(style.color), below)), light(below)].sort((a, b) => b - a)
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700)
    const ratio = (high + .05) / (low + .05)
    if (ratio < (isLarge ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${element.outerHTML.slice(0, 90)}`)
  }
  return faults
})()"""


class Accessibility:
    """`axe` is the path of axe.min.js, or empty."""

    def __init__(self, axe):
        self.source = open(axe, encoding="utf-8").read() if axe and os.path.exists(axe) else None

    @property
    def name(self):
        return "axe-core and own rules" if self.source else "own rules only: axe-core is not at hand"

    def check(self, tab, what):
        faults = tab.run(NAMES) + tab.run(CONTRAST)
        if self.source:
            if not tab.run("!!window.axe"):
                tab.browser.call("Runtime.evaluate", expression=self.source)
            faults += tab.run("""axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.flatMap(
              rule => rule.nodes.map(node => rule.id + ': ' + node.html.slice(0, 140) + ' ' + (node.any[0]?.message ?? ''))))""")
        if faults:
            raise SystemExit(f"accessibility of {what}:\n" + "\n".join(faults[:12]))
