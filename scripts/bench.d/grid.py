#!/usr/bin/env python3
"""grid.py PHOTOD FOLDER [--cells 500] [--side 400] [--scored 50] [--ssimulacra2 PROGRAM] [--classes jpeg,webp,avif,jxl]
[--quality N] [--session FORMAT] [--pause SECONDS]

Bytes, CPU and SSIMULACRA2 of the cells of a grid, by the best format that a client shows: from originals, one at a time,
without caches. Beside them, what imgproxy's defaults give: the same cells made by libvips in this process with one thread
(thumbnail, JPEG 80, WebP 79 of effort 4, AVIF 63 of speed 8, JPEG XL 77 of effort 4, no metadata). CPU is that of the
daemon and its encoder processes, or of this process. SSIMULACRA2 is measured on some of the cells, against the frame that
each has scaled itself, as PNG. `--quality N` measures only photod, for a comparison at equal scores.

`--session FORMAT` instead shows what format=auto does for a client that lists FORMAT: it scrolls twice through the grid
with a preheat window, PAUSE seconds a screen of 25 cells, with the daemon's default settings. It prints the bytes of each
pass beside those of JPEGs, and the time that went into smaller encodings.

The cells' originals are parts of the photographs of FOLDER, so that all are different pictures.

Needs a Python with Pillow and pyvips, and a libvips with the encoders of photod (Debian's libvips42; the wheel pyvips-binary
has others); djxl of libjxl-tools; and ssimulacra2, see formats.py.
"""
import argparse, json, os, random, re, statistics, subprocess, sys, tempfile, threading, time, urllib.request
from pathlib import Path

from formats import Bench

IMGPROXY = {"jpeg": (".jpg", dict(Q=80)), "webp": (".webp", dict(Q=79, effort=4)), "avif": (".avif", dict(Q=63, effort=1)), "jxl": (".jxl", dict(Q=77, effort=4))}
SCREEN = 25


def make_cells(folder, count, library):
    """Originals of at least 2 megapixels where the photograph has them: each photograph whole, then parts of it."""
    from PIL import Image
    paths = sorted(Path(folder).rglob("*.jpg"))
    for number in range(count):
        chance = random.Random(number)
        with Image.open(paths[number % len(paths)]) as image:
            image = image.convert("RGB")
            share = 1 if number < len(paths) else chance.uniform(0.5, 0.9)
            width, height = int(image.width * share), int(image.height * share)
            x, y = chance.randint(0, image.width - width), chance.randint(0, image.height - height)
            image.crop((x, y, x + width, y + height)).save(f"{library}/{number:04}.jpg", quality=92)


def cpu_seconds(process):
    """CPU seconds of a process and its children, also those that have ended."""
    tick = os.sysconf("SC_CLK_TCK")
    parents, times = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(folder.name)], times[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    def is_descendant(one):
        while one > 1:
            if one == process:
                return True
            one = parents.get(one, 0)
        return False
    return sum(value for one, value in times.items() if is_descendant(one)) / tick


class Daemon:
    def __init__(self, photod, library, data, *settings):
        self.process = subprocess.Popen(
            [photod, "serve", "--library", library, "--data", data, "--listen", "127.0.0.1:0", *(part for one in settings for part in ("--set", one))],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            if found and found[1] != "0":
                self.address = f"http://127.0.0.1:{found[1]}"
                break
        # The pipe must not fill up.
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()

    def get(self, path, body=None, method=None, **fields):
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        if body is not None:
            fields["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        return urllib.request.urlopen(urllib.request.Request(self.address + path, body, fields, method=method))

    def json(self, path): return json.load(self.get(path))

    def assets(self, count):
        """Identifiers in the order of the files' names, as soon as all are scanned."""
        while True:
            found, page = [], "/v1/assets?limit=1000"
            while page:
                answer = self.json(page)
                found += answer["assets"]
                page = answer.get("next")
            if len(found) >= count:
                return [one["localIdentifier"] for one in sorted(found, key=lambda one: one.get("relativePath") or one["originalFilename"])]
            time.sleep(0.2)

    def rest(self):
        """Waits until nothing is being done."""
        last = -1
        while (now := self.cpu()) - last > 0.01:
            last = now
            time.sleep(1)

    def cpu(self): return cpu_seconds(self.process.pid)

    def metric(self, name):
        return float(re.search(rf"^{name} ([0-9.e+-]+)$", self.get("/metrics").read().decode(), re.M)[1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def line(name, sizes, cpu, scores):
    error = statistics.stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0
    score = f"{statistics.mean(scores):6.2f} +- {error:.2f}" if scores else ""
    print(f"{name:22} {sum(sizes) / 1e6:7.2f} MB  {1000 * cpu / len(sizes):6.1f} ms a cell  {score}", flush=True)


def compare(options, library, work):
    import pyvips
    # As imgproxy sets libvips.
    pyvips.cache_set_max(0)
    bench = Bench(options.photod, options.ssimulacra2, work)
    scored = set(range(0, options.cells, max(1, options.cells // options.scored))) if options.scored else set()

    def scores(frames, pictures, suffix):
        found = []
        for number in sorted(scored):
            bench.save_pixels(f"{work}/{frames}-{number}.png", bench.frame)
            coded = f"{work}/coded{suffix}"
            Path(coded).write_bytes(pictures[number])
            found.append(bench.score(coded))
        return found

    daemon = Daemon(options.photod, library, f"{work}/data", "cache.diskBytes=0", "cache.backgroundDerivatives=false")
    try:
        assets = daemon.assets(options.cells)
        daemon.rest()

        quality = options.quality or 82

        def cell(number, format):
            path = f"/v1/assets/{assets[number]}/image?targetSize={options.side}x{options.side}&contentMode=aspectFill&format={format}&quality={quality}"
            return daemon.get(path, Cache_Control="no-cache").read()

        for number in scored:
            Path(f"{work}/photod-{number}.png").write_bytes(cell(number, "png"))
        for format in options.classes.split(","):
            # The first renders also load code.
            for number in range(3): cell(number, format)
            pictures, sizes, cpu = {}, [], daemon.cpu()
            for number in range(options.cells):
                picture = cell(number, format)
                sizes.append(len(picture))
                if number in scored: pictures[number] = picture
            cpu = daemon.cpu() - cpu
            line(f"photod {format} {quality}", sizes, cpu, scores("photod", pictures, IMGPROXY[format][0]))
    finally:
        daemon.stop()

    if options.quality:
        return

    def thumbnail(number):
        return pyvips.Image.thumbnail(f"{library}/{number:04}.jpg", options.side, height=options.side, crop="centre")

    for number in scored: thumbnail(number).write_to_file(f"{work}/vips-{number}.png", compression=1)
    for format in options.classes.split(","):
        suffix, settings = IMGPROXY[format]
        pictures, sizes, cpu = {}, [], time.process_time()
        for number in range(options.cells):
            picture = thumbnail(number).copy_memory().write_to_buffer(suffix, strip=True, **settings)
            sizes.append(len(picture))
            if number in scored: pictures[number] = picture
        cpu = time.process_time() - cpu
        line(f"imgproxy's {format}", sizes, cpu, scores("vips", pictures, suffix))


def session(options, library, work):
    daemon = Daemon(options.photod, library, f"{work}/data")
    try:
        assets = daemon.assets(options.cells)
        daemon.rest()
        accept = f"image/{options.session},image/*;q=0.8,*/*;q=0.5"

        def cell(asset, format, **fields):
            return daemon.get(f"/v1/assets/{asset}/image?targetSize={options.side}x{options.side}&contentMode=aspectFill&format={format}", **fields)

        start, begun = daemon.cpu(), time.monotonic()
        for turn in ("first", "second"):
            sizes, smaller, cpu, upgrades, since = 0, 0, daemon.cpu(), daemon.metric("photod_upgrades_seconds_total"), time.monotonic()
            for first in range(0, options.cells, SCREEN):
                last = min(first + SCREEN, options.cells) - 1
                window = {"assets": assets, "visible": [first, last], "margin": SCREEN, "targetSize": f"{options.side}x{options.side}", "contentMode": "aspectFill"}
                daemon.get("/v1/cachingManagers/default/window", window, "PUT", Accept=accept).read()
                for asset in assets[first:last + 1]:
                    answer = cell(asset, "auto", Accept=accept)
                    sizes += len(answer.read())
                    smaller += "upgraded=?1" in (answer.headers["Image-Result"] or "")
                time.sleep(options.pause)
            upgrades, cpu, took = daemon.metric("photod_upgrades_seconds_total") - upgrades, daemon.cpu() - cpu, time.monotonic() - since
            print(f"{turn} pass, {took:.0f} s: {sizes / 1e6:.2f} MB, {smaller} of {options.cells} cells as {options.session}; CPU {cpu:.1f} s, "
                  f"upgrades took {upgrades:.1f} s, {100 * upgrades / took:.1f}% of the time", flush=True)
        took, cpu = time.monotonic() - begun, daemon.cpu() - start
        upgrades = daemon.metric("photod_upgrades_seconds_total")
        print(f"session: {took:.0f} s, CPU {cpu:.1f} s, upgrades {upgrades:.1f} s, "
              f"{daemon.metric('photod_upgrades_total'):.0f} frames made, {daemon.metric('photod_upgrades_saved_bytes_total') / 1e6:.2f} MB smaller")
        print(f"the same cells as JPEG: {sum(len(cell(asset, 'jpeg').read()) for asset in assets) / 1e6:.2f} MB")
    finally:
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photod")
    parser.add_argument("folder")
    parser.add_argument("--cells", type=int, default=500)
    parser.add_argument("--side", type=int, default=400)
    parser.add_argument("--scored", type=int, default=50)
    parser.add_argument("--ssimulacra2", default="ssimulacra2")
    parser.add_argument("--classes", default="jpeg,webp,avif,jxl")
    parser.add_argument("--quality", type=int)
    parser.add_argument("--session")
    parser.add_argument("--pause", type=float, default=2)
    options = parser.parse_args()
    # One thread for each picture, as imgproxy sets it. Read by libvips when it starts.
    os.environ["VIPS_CONCURRENCY"] = "1"
    with tempfile.TemporaryDirectory(prefix="photod-grid-") as work:
        library = f"{work}/library"
        os.mkdir(library)
        make_cells(options.folder, options.cells, library)
        (session if options.session else compare)(options, library, work)


if __name__ == "__main__":
    main()
