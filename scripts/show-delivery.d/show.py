# show.py PHOTOD WORK OUTPUT : see scripts/show-delivery. WORK/library has one photograph.
#
# Nothing waits for a time. The page itself tells when an image of another size has come (naturalWidth); the first
# screenshot counts if the degraded frame was still there when it was taken, and else another size is asked for.
import json
import re
import subprocess
import sys
import urllib.request
import zlib

from browser import Browser

photod, work, output = sys.argv[1:]

# `sizes` grows with each size that the image has had; `frame(n)` is the promise that there are n of them.
PAGE = """(() => {
  document.documentElement.innerHTML = '<head></head><body style="margin:0;background:#808080"></body>';
  const image = new Image(), began = performance.now();
  window.sizes = []; window.image = image;
  window.frame = n => new Promise(resolve => {
    const look = () => sizes.length >= n ? resolve(sizes) : requestAnimationFrame(look);
    look();
  });
  const watch = () => {
    const width = image.naturalWidth, last = sizes[sizes.length - 1];
    if (width && (!last || last.width != width))
      sizes.push({ width, height: image.naturalHeight, ms: Math.round(performance.now() - began) });
    requestAnimationFrame(watch);
  };
  image.onerror = () => sizes.push({ error: true }, { error: true });
  image.style = 'display:block;width:100%';
  image.src = 'URL';
  document.body.append(image);
  watch();
})()"""


def pixels(png):
    """Rows of the red channel; a screenshot has 8 bits, no palette and is not interlaced."""
    width, height = (int.from_bytes(png[i:i + 4], "big") for i in (16, 20))
    channels = {2: 3, 6: 4}[png[25]]
    data, at = b"", 8
    while at < len(png):
        length = int.from_bytes(png[at:at + 4], "big")
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    raw, stride, rows, above = zlib.decompress(data), width * channels, [], None
    for y in range(height):
        start = y * (stride + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        above = above or bytearray(stride)
        for i in range(stride):  # PNG §9
            left = row[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + above[i]) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + above[i]) // 2) & 255
            elif kind == 4:
                estimate = left + above[i] - corner
                distances = abs(estimate - left), abs(estimate - above[i]), abs(estimate - corner)
                nearest = left if distances[0] <= min(distances[1:]) else above[i] if distances[1] <= distances[2] else corner
                row[i] = (row[i] + nearest) & 255
        rows.append(row[0::channels])
        above = row
    return rows


def detail(png):
    """How much neighbouring pixels differ, and how many levels there are: a blank page has one."""
    rows = pixels(png)[::4]
    difference = sum(abs(a - b) for row in rows for a, b in zip(row, row[1:]))
    return difference / sum(len(row) - 1 for row in rows), len({value for row in rows for value in row})


def show(browser, url):
    """Both screenshots and the frames; None where the final frame came while the first screenshot was taken."""
    browser.evaluate(PAGE.replace("URL", url))
    first = browser.evaluate("frame(1)")[0]
    if first.get("error"):
        raise SystemExit("the image did not load")
    degraded = browser.screenshot()
    if browser.evaluate("image.naturalWidth") != first["width"]:
        return None
    frames = browser.evaluate("frame(2)")
    return degraded, browser.screenshot(), frames


daemon = subprocess.Popen(
    [photod, "serve", "--library", work + "/library", "--data", work + "/data", "--listen", "127.0.0.1:0",
     "--log-level", "error", "--set", "accessLog=false"], stdout=subprocess.PIPE, text=True)
browser = None
try:
    url = re.search(r"http://\S+", daemon.stdout.readline())[0]
    ready = False
    while not ready:
        ready = json.load(urllib.request.urlopen(url + "/readyz"))["firstScan"]["complete"]
    asset = json.load(urllib.request.urlopen(url + "/v1/assets"))["assets"][0]
    browser = Browser(work + "/profile", 1200, 800)
    # As with the developer tools open: `Cache-Control: no-cache`, so that each attempt is the first.
    browser.call("Network.setCacheDisabled", cacheDisabled=True)
    browser.open(url + "/healthz")
    for side in range(1600, 1590, -1):
        shown = show(browser, f"/v1/assets/{asset['localIdentifier']}/image"
                              f"?deliveryMode=opportunistic&targetSize={side}x{side}")
        if shown:
            break
    else:
        raise SystemExit("the final frame was always there before the degraded one could be looked at")
finally:
    if browser:
        browser.close()
    daemon.terminate()
    daemon.wait()

degraded, final, frames = shown
for name, png in (("degraded", degraded), ("final", final)):
    with open(f"{output}/{name}.png", "wb") as file:
        file.write(png)
for name, frame in zip(("degraded", "final"), frames):
    print(f"{name}: {frame['width']}x{frame['height']}, in the page after {frame['ms']} ms, {output}/{name}.png")
(coarse, levels), (fine, _) = detail(degraded), detail(final)
print(f"detail: {coarse:.2f} of the degraded frame, {fine:.2f} of the final one")
if levels < 16 or fine < coarse * 1.2:
    raise SystemExit("the screenshots don't show two frames")
