# show.py PHOTOD WORK OUTPUT : see scripts/show-delivery. WORK/library has one photograph.
#
# It uses no sleeps. The page reports each new size of the image (naturalWidth). The first screenshot is valid if the
# page still showed the degraded frame after it was taken; otherwise the script requests another size.
import json
import re
import subprocess
import sys
import urllib.request
import zlib

from browser import Browser

photod, work, output = sys.argv[1:]

# `sizes` has one entry for each size that the image had; `frame(n)` is a promise that resolves when there are n
# entries.
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
    """Returns the rows of the red channel of a screenshot (8 bits, no palette, not interlaced)."""
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
    """Returns the mean difference of neighbouring pixels, and the number of levels (a blank page has one)."""
    rows = pixels(png)[::4]
    difference = sum(abs(a - b) for row in rows for a, b in zip(row, row[1:]))
    return difference / sum(len(row) - 1 for row in rows), len({value for row in rows for value in row})


def show(browser, url):
    """Returns both screenshots and the frames; None if the final frame arrived during the first screenshot."""
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
    # Sends `Cache-Control: no-cache`, as with open developer tools, so that each attempt renders both frames again.
    browser.call("Network.setCacheDisabled", cacheDisabled=True)
    browser.open(url + "/healthz")
    for side in range(1600, 1590, -1):
        shown = show(browser, f"/v1/assets/{asset['localIdentifier']}/image"
                              f"?deliveryMode=opportunistic&targetSize={side}x{side}")
        if shown:
            break
    else:
        raise SystemExit("in every attempt the final frame arrived before the screenshot of the degraded frame")
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
    raise SystemExit("the two screenshots do not differ as a degraded and a final frame should")
