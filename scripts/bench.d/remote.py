#!/usr/bin/env python3
"""scripts/bench.d/remote.py --photod PATH --demo PATH [--part PART]... [--photos FOLDER] : a remote library, measured.

Starts a web server with a library, and a proxy in front of it with a delay and a bandwidth, both on loopback. Parts:

  index   bytes that a scan reads of each asset and its CPU time, by format
  frames  time to the degraded and the final frame, beside a daemon that renders after the download, and beside curl
  cpu     CPU of a daemon for a frame of a remote original, beside one whose library is the folder
  storm   200 clients want 50 originals at the same time: downloads, and peak memory of the daemon
  grid    a second daemon with an empty disk shows a grid from shared derivatives: originals that it needs

The photographs are generated. --photos FOLDER adds a row for each format of its files to `index`.
"""
import argparse, json, os, pathlib, re, shutil, statistics, subprocess, sys, tempfile, threading, time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from remote_servers import Origin, ShapingProxy

DELAYS_MS = [20, 100]
MEGABITS = 20
ENVIRONMENT = {**os.environ, "AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_SESSION_TOKEN": ""}


class Daemon:
    """A daemon with a data folder of its own."""

    def __init__(self, options, library, *settings, data=None):
        self.data = data or tempfile.mkdtemp(dir=options.work)
        self.options, self.library = options, library
        self.common = ["--library", library, "--data", self.data, "--set", "remote.allowPrivateAddresses=true"]
        self.settings = [word for setting in settings for word in ("--set", setting)]

    def scan(self):
        """Scans the library, and returns the CPU seconds of the scan."""
        process = subprocess.Popen(
            [self.options.photod, "scan", *self.common, *self.settings], env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"the scan of {self.library} failed")
        return usage.ru_utime + usage.ru_stime

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.options.photod, "serve", *self.common, "--listen", "127.0.0.1:0", "--set", "scan.intervalSeconds=0",
             "--set", "watch.enabled=false", *self.settings],
            env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r'"url":"([^"]+)"', line):
                self.address = found[1]
                threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()
                break
        else:
            sys.exit("the daemon did not start")
        self.wait(lambda: self.metric('photod_library_scans_total{result="completed"}') >= 1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def get(self, target):
        with urllib.request.urlopen(self.address + target, timeout=120) as reply:
            return reply.read()

    def wait(self, condition):
        end = time.monotonic() + 300
        while not condition():
            if time.monotonic() > end:
                sys.exit("waited in vain")
            time.sleep(0.05)

    def metric(self, series):
        text = self.get("/metrics").decode()
        return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(series + " ")), 0)

    def frames(self, source):
        return sum(
            float(line.split()[-1]) for line in self.get("/metrics").decode().splitlines()
            if line.startswith("photod_image_frames_total{") and f'source="{source}"' in line)

    def assets(self):
        """Path -> asset."""
        found = json.loads(self.get("/v1/assets?limit=1000"))["assets"]
        return {asset["relativePath"]: asset for asset in found}

    @property
    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_mebibytes(self):
        return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024


def image(asset, side, *more):
    return "&".join([f"/v1/assets/{asset['localIdentifier']}/image?targetSize={side}x{side}",
                     "networkAccessAllowed=true", "format=jpeg", *more])


def photograph(options, name, *arguments):
    """A photograph of 12 MP, generated once."""
    path = options.cache / name
    if not path.exists():
        subprocess.run([options.demo, "photo", str(path), *arguments], check=True)
    return path.read_bytes()


def copies(bytes_, suffix, count, prefix=""):
    """Files with the same picture and different ends."""
    return {f"{prefix}{number:03}{suffix}": bytes_ + b"%08d" % number for number in range(count)}


def demo_files(options):
    folder = options.cache / "demo"
    if not folder.exists():
        subprocess.run([options.demo, "library", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    print()
    row(*cells)
    row("---", *["---:"] * (len(cells) - 1))


def index(options):
    baseline = photograph(options, "baseline.jpg", "--thumbnail")
    formats = {".jpg": baseline}
    for path, content in demo_files(options).items():
        formats.setdefault(pathlib.Path(path).suffix, content)
    for path in sorted(options.photos.rglob("*")) if options.photos else []:
        if path.is_file():
            formats[path.suffix.lower() + ", " + path.name] = path.read_bytes()
    head("format", "original, KB", "read for an asset, KB", "ranges", "CPU for an asset, ms")
    for name, content in formats.items():
        seconds, count = [], 40
        for number in (1, count + 1):
            with Origin(copies(content, name.split(",")[0], number)) as origin:
                seconds.append(Daemon(options, origin.address).scan())
                read, ranges = origin.sent_bytes / number, origin.ranges / number
        row(name, len(content) // 1000, f"{read / 1000:.1f}", f"{ranges:.1f}",
            f"{(seconds[1] - seconds[0]) / count * 1000:.2f}")


def part_times(daemon, target):
    """Seconds until each frame of a multipart/mixed response is complete: those of degraded ones, and the final one."""
    began, degraded, final = time.monotonic(), [], None
    with urllib.request.urlopen(daemon.address + target, timeout=120) as reply:
        while line := reply.readline():
            if not line.startswith(b"--"):
                continue
            fields = {}
            while (line := reply.readline().strip()):
                name, value = line.decode().split(":", 1)
                fields[name.lower()] = value.strip()
            if not fields:
                break
            reply.read(int(fields["content-length"]))
            if fields["content-type"].startswith("image/"):
                now = time.monotonic() - began
                if "degraded=?1" in fields["image-result"]:
                    degraded.append(now)
                else:
                    final = now
            elif "problem" in fields["content-type"]:
                sys.exit(f"{target} failed")
    return (degraded[0] if degraded else None), final


def frames(options):
    kinds = {
        "baseline": photograph(options, "plain.jpg"),
        "baseline with thumbnail": photograph(options, "baseline.jpg", "--thumbnail"),
        "progressive": photograph(options, "progressive.jpg", "--progressive"),
    }
    head("photograph", "added delay, ms", "curl, s", "overlapped: degraded, s", "final, s",
         "download, then render: degraded, s", "final, s")
    for kind, content in kinds.items():
        for delay in DELAYS_MS:
            with Origin(copies(content, ".jpg", options.rounds)) as origin, ShapingProxy(origin.port, delay, MEGABITS) as proxy:
                cells = []
                transfers = []
                for number in range(options.rounds):
                    run = subprocess.run(
                        ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}", f"{proxy.address}/{number:03}.jpg"],
                        capture_output=True, text=True, check=True)
                    transfers.append(float(run.stdout))
                for early in (4, 0):
                    daemon = Daemon(options, proxy.address, f"render.earlyRenders={early}")
                    daemon.scan()
                    with daemon:
                        times = [
                            part_times(daemon, image(asset, 1600, "deliveryMode=opportunistic", "multipart=mixed"))
                            for asset in daemon.assets().values()]
                    first = [degraded for degraded, _ in times if degraded is not None]
                    cells += [f"{statistics.median(first):.2f}" if first else "–",
                              f"{statistics.median(final for _, final in times):.2f}"]
                row(kind, delay, f"{statistics.median(transfers):.2f}", *cells)


def cpu(options):
    head("photograph", "MB", "local, ms", "remote, overlapped, ms", "remote, then rendered, ms", "goal, ms")
    for kind, arguments in {"plain": [], "progressive": ["--progressive"]}.items():
        content, count = photograph(options, f"{kind}.jpg", *arguments), 20
        files = copies(content, ".jpg", count)
        folder = pathlib.Path(tempfile.mkdtemp(dir=options.work))
        for name, file in files.items():
            (folder / name).write_bytes(file)
        spent = []
        with Origin(files) as origin:
            for library, early in ((str(folder), 4), (origin.address, 4), (origin.address, 0)):
                # Without work in the background, only requests cost time.
                daemon = Daemon(options, library, f"render.earlyRenders={early}", "cache.backgroundDerivatives=false")
                daemon.scan()
                with daemon:
                    assets = list(daemon.assets().values())
                    daemon.wait(lambda: daemon_is_idle(daemon))
                    before = daemon.cpu_seconds
                    for asset in assets:
                        daemon.get(image(asset, 1600))
                    spent.append((daemon.cpu_seconds - before) / count * 1000)
        megabytes = len(content) / 1e6
        row(kind, f"{megabytes:.1f}", *(f"{value:.1f}" for value in spent), f"{spent[0] + 2 + megabytes / 2:.1f}")


def daemon_is_idle(daemon):
    before = daemon.cpu_seconds
    time.sleep(0.5)
    return daemon.cpu_seconds - before <= 0.02


def storm(options):
    content = photograph(options, "plain.jpg")
    with Origin(copies(content, ".jpg", 50)) as origin, ShapingProxy(origin.port, 20, 400) as proxy:
        daemon = Daemon(options, proxy.address)
        daemon.scan()
        with daemon:
            assets = list(daemon.assets().values())
            before = daemon.peak_mebibytes
            began = time.monotonic()
            with ThreadPoolExecutor(200) as clients:
                # Four clients for each original, in two sizes.
                requests = [image(assets[number % 50], 400 + number // 100 * 400) for number in range(200)]
                sizes = list(clients.map(lambda target: len(daemon.get(target)), requests))
            head("clients", "originals", "downloads", "failed", "seconds", "peak before, MiB", "peak, MiB")
            row(200, 50, origin.downloads, sum(size == 0 for size in sizes), f"{time.monotonic() - began:.1f}",
                f"{before:.0f}", f"{daemon.peak_mebibytes:.0f}")


def grid(options):
    with Origin(demo_files(options)) as origin, Origin({}, is_bucket=True) as bucket:
        shared = ["cache.derivatives=s3://shared/small", f"s3.endpoint={bucket.server_address}", "s3.pathStyle=true"]
        first = Daemon(options, origin.address, *shared)
        first.scan()
        with first:
            assets = first.assets()
            for asset in assets.values():
                first.get(image(asset, 1000))
            # Pictures with less than twice the pixels of a derivative have none.
            expected = sum(min(a["pixelWidth"], a["pixelHeight"]) >= 500 for a in assets.values())
            first.wait(lambda: first.metric('photod_shared_derivatives_events_total{event="stored"}') >= expected)
        second = Daemon(options, origin.address, *shared)
        second.scan()
        with second:
            before = origin.downloads
            head("picture of the grid", "size", "from")
            for path, asset in second.assets().items():
                downloads = origin.downloads
                second.get(image(asset, 200, "contentMode=aspectFill"))
                row(path, f"{asset['pixelWidth']}x{asset['pixelHeight']}",
                    "original" if origin.downloads > downloads else "derivative")
            print(f"\n{len(assets)} pictures, {len(assets) - expected} too small for a derivative, "
                  f"{origin.downloads - before} originals downloaded, {second.frames('network'):.0f} decoded")


def main():
    parts = {"index": index, "frames": frames, "cpu": cpu, "storm": storm, "grid": grid}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photod", default=".build/release/photod")
    parser.add_argument("--demo", default=".build/release/photod-demo")
    parser.add_argument("--part", action="append", choices=parts, help="repeat it for several; default: all")
    parser.add_argument("--photos", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5, help="photographs for each time")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(".build/bench-remote"))
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    options.work = tempfile.mkdtemp(prefix="photod-bench-")
    try:
        for name in options.part or parts:
            parts[name](options)
    finally:
        shutil.rmtree(options.work)


main()
