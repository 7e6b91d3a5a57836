#!/usr/bin/env python3
"""formats.py PHOTOD FOLDER [--sizes 200,400,800] [--qualities 10,20,...] [--pictures 54] [--part I/N] [--results FILE]
[--ssimulacra2 PROGRAM] [--plot FILE]

Measures what `quality` gives in each format: SSIMULACRA2 against the same frame as PNG, and bytes. The reference is a
JPEG of libjpeg-turbo (cjpeg) with the tables of T.81 at the same number, 4:2:0 up to 90 and 4:4:4 above. Like photod's
JPEGs of less than 4 megapixels, it has T.81's Huffman tables.

For each quality it prints the mean score of each format, its difference from the reference, and the bytes beside the
reference; then the codec's own setting with which the mean would equal the reference's, which is a row of the table in
EncoderQuality.swift. Standard errors are those of the means of photographs, because the frames of one photograph resemble
each other.

`--part I/N` measures every Nth picture, from the Ith. Lines are added to the results; frames that have a line there are not
measured again. `--results FILE` without PHOTOD and FOLDER prints the tables of all lines, and `--plot FILE` draws them.

Needs Pillow with WebP and AVIF, and for the plot matplotlib; cjpeg of libjpeg-turbo-progs, djxl of libjxl-tools; and
`ssimulacra2`, one of the tools of libjxl's source (cmake -DJPEGXL_ENABLE_DEVTOOLS=ON), which prints the score of two files.
"""
import argparse, json, math, os, re, statistics, subprocess, sys, tempfile
from pathlib import Path

FORMATS = ["reference", "jpeg", "webp", "avif", "jxl"]
CODECS = FORMATS[1:]
COLORS = dict(zip(FORMATS, ["black", "tab:orange", "tab:green", "tab:red", "tab:purple"]))
TABLE = Path(__file__).parent / "../../Sources/Imaging/ImageCodec/Encoding/EncoderQuality.swift"
# Settings that the encoders round to whole numbers.
WHOLE = {"jpeg", "avif"}


def table():
    """The rows of the checked-in table: quality and the setting of each codec."""
    rows = re.findall(r"Row\(quality: (\d+), jpeg: ([\d.]+), webp: ([\d.]+), avif: ([\d.]+), jxl: ([\d.]+)\)", TABLE.read_text())
    return [(int(quality), dict(zip(CODECS, map(float, settings)))) for quality, *settings in rows]


def setting(rows, codec, quality):
    """As `EncoderQuality.setting` computes it."""
    for (low, below), (high, above) in zip(rows, rows[1:]):
        if quality <= high:
            value = below[codec] + (above[codec] - below[codec]) * (quality - low) / (high - low)
            return math.floor(value + 0.5) if codec in WHOLE else round(value, 2)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def pictures(folder, side):
    """Each photograph whole; then quarters of those that are large enough: different pictures for a codec."""
    from PIL import Image
    paths = sorted(Path(folder).rglob("*.jpg"))
    yield from ((path, None) for path in paths)
    for corner in [(0.05, 0.05), (0.5, 0.5)]:
        for path in paths:
            with Image.open(path) as image:
                if max(image.size) * 0.45 >= side:
                    yield path, corner


class Bench:
    """Encodes, decodes and compares frames in a folder of its own."""

    def __init__(self, photod, ssimulacra2, work):
        self.photod, self.ssimulacra2, self.work = photod, ssimulacra2, work
        self.frame, self.decoded = f"{work}/frame.ppm", f"{work}/decoded.ppm"
        self.rows = table()

    def prepare(self, path, corner, size):
        """Makes the frame of a picture as PNG and as PPM."""
        from PIL import Image
        source = str(path)
        if corner:
            with Image.open(path) as image:
                (width, height), (x, y) = image.size, corner
                image = image.convert("RGB").crop((int(x * width), int(y * height), int((x + 0.45) * width), int((y + 0.45) * height)))
            source = f"{self.work}/quarter.png"
            image.save(source, compress_level=1)
        run(self.photod, "render", source, "--target-size", f"{size}x{size}", "--color-space", "srgb", "-o", f"{self.work}/frame.png", "--replace")
        self.save_pixels(f"{self.work}/frame.png", self.frame)

    @staticmethod
    def save_pixels(file, to):
        from PIL import Image
        with Image.open(file) as image:
            image.convert("RGB").save(to)

    def encode(self, format, quality):
        coded = f"{self.work}/coded.{'jpg' if format in ('reference', 'jpeg') else format}"
        if format == "reference":
            run("cjpeg", "-quality", str(quality), "-sample", "2x2" if quality <= 90 else "1x1", "-outfile", coded, self.frame)
        else:
            run(self.photod, "render", f"{self.work}/frame.png", "--format", format, "--quality", str(quality), "-o", coded, "--replace")
        return coded

    def score(self, coded):
        if coded.endswith(".jxl"):
            run("djxl", "--num_threads=0", coded, self.decoded)
        else:
            self.save_pixels(coded, self.decoded)
        return float(run(self.ssimulacra2, self.frame, self.decoded).split()[0])

    def measure(self, chosen, sizes, qualities, results):
        done = {(line["picture"], line["size"], line["quality"], line["format"], line.get("setting")) for line in read(results)}
        with open(results, "a") as out:
            for path, corner in chosen:
                for size in sizes:
                    picture = f"{path.name}{corner or ''}"
                    wanted = [(quality, format, None if format == "reference" else setting(self.rows, format, quality))
                              for quality in qualities for format in FORMATS]
                    wanted = [one for one in wanted if (picture, size, *one) not in done]
                    if wanted:
                        self.prepare(path, corner, size)
                    for quality, format, value in wanted:
                        coded = self.encode(format, quality)
                        line = dict(picture=picture, photograph=path.name, size=size, quality=quality, format=format, setting=value,
                                    score=round(self.score(coded), 3), bytes=os.path.getsize(coded))
                        out.write(json.dumps(line) + "\n")
                    out.flush()


def read(results):
    return [json.loads(line) for line in open(results)] if os.path.exists(results) else []


def error(values):
    """The standard error of a mean of numbers by photograph."""
    means = {}
    for photograph, value in values:
        means.setdefault(photograph, []).append(value)
    means = [statistics.mean(one) for one in means.values()]
    return statistics.stdev(means) / math.sqrt(len(means)) if len(means) > 1 else 0


class Results:
    """All lines, by what was measured. Frames without all lines are left out, so that all means are of the same frames."""

    def __init__(self, lines):
        self.lines, frames = {}, {}
        for line in lines:
            what = (line["format"], line["quality"], line.get("setting"))
            frame = (line["picture"], line["size"])
            self.lines.setdefault(what, {})[frame] = line
            frames.setdefault(frame, set()).add(what)
        most = max(len(found) for found in frames.values())
        self.frames = sorted(frame for frame in frames if len(frames[frame]) == most)
        self.photographs = {frame: line["photograph"] for found in self.lines.values() for frame, line in found.items()}
        self.qualities = sorted({quality for format, quality, _ in self.lines if format == "reference"})

    def scores(self, what): return [self.lines[what][frame]["score"] for frame in self.frames]

    def mean(self, what): return statistics.mean(self.scores(what))

    def total(self, what): return sum(self.lines[what][frame]["bytes"] for frame in self.frames)

    def difference(self, what, quality):
        """The mean difference from the reference at a quality, and its standard error."""
        pairs = [(self.photographs[frame], self.lines[what][frame]["score"] - self.lines["reference", quality, None][frame]["score"])
                 for frame in self.frames]
        return statistics.mean(value for _, value in pairs), error(pairs)

    def measured(self, codec, quality):
        """What was measured of a codec at a quality, whatever its setting."""
        return sorted(what for what in self.lines if what[0] == codec and what[1] == quality)

    def equal(self, codec, quality):
        """The setting with the reference's mean score, its standard error, and the bytes relative to the reference;
        interpolated between the two nearest settings with the same chroma sampling."""
        full = quality > 90 and codec in ("jpeg", "avif")
        known = {what[2]: what for what in self.lines if what[0] == codec and (full == (what[1] > 90) or codec in ("webp", "jxl"))}
        # One setting for each score: at the end of its scale, several settings of a codec give the same score.
        known = {self.mean(what): what for what in known.values()}
        known = [known[score] for score in sorted(known)]
        if len(known) < 2:
            return None
        goal = self.mean(("reference", quality, None))
        upper = next((i for i, what in enumerate(known) if self.mean(what) >= goal), len(known) - 1)
        low, high = known[max(0, upper - 1)], known[max(1, upper)]
        slope = (high[2] - low[2]) / (self.mean(high) - self.mean(low))
        share = (goal - self.mean(low)) / (self.mean(high) - self.mean(low))
        bytes = math.exp(math.log(self.total(low)) * (1 - share) + math.log(self.total(high)) * share)
        nearest = low if share < 0.5 else high
        return (low[2] + slope * (goal - self.mean(low)), abs(slope) * self.difference(nearest, quality)[1],
                bytes / self.total(("reference", quality, None)) - 1, 0 <= share <= 1)


def report(results):
    photographs = len({results.photographs[frame] for frame in results.frames})
    print(f"{len(results.frames)} frames of {len({picture for picture, _ in results.frames})} pictures from {photographs} photographs")
    for quality in results.qualities:
        print(f"quality {quality}")
        for format in FORMATS:
            for what in results.measured(format, quality):
                difference, uncertain = results.difference(what, quality)
                share = results.total(what) / results.total(("reference", quality, None)) - 1
                print(f"  {format:10} {'' if what[2] is None else what[2]:6} {results.mean(what):6.2f}  difference {difference:+6.2f} +- {uncertain:.2f}  bytes {100 * share:+6.1f}%")
    print("settings with the reference's mean score (* beyond what was measured)")
    for quality in results.qualities:
        texts = []
        for codec in CODECS:
            found = results.equal(codec, quality)
            if found:
                value, uncertain, share, inside = found
                texts.append(f"{codec} {value:6.2f} +- {uncertain:.2f}{' ' if inside else '*'} {100 * share:+5.1f}%")
        print(f"  {quality:3}  {'  '.join(texts)}")


def plot(results, file):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot
    figure, (scores, differences, sizes) = pyplot.subplots(1, 3, figsize=(18, 6), layout="constrained")
    for format in FORMATS:
        found = [(quality, what) for quality in results.qualities for what in results.measured(format, quality)[:1]]
        if not found:
            continue
        qualities = [quality for quality, _ in found]
        means = [results.mean(what) for _, what in found]
        errors = [error(list(zip((results.photographs[frame] for frame in results.frames), results.scores(what)))) for _, what in found]
        scores.errorbar(qualities, means, errors, label=format, color=COLORS[format], marker=".", capsize=3)
        if format != "reference":
            pairs = [results.difference(what, quality) for quality, what in found]
            differences.errorbar(qualities, [mean for mean, _ in pairs], [uncertain for _, uncertain in pairs], label=format, color=COLORS[format], marker=".", capsize=3)
        sizes.plot([results.total(what) / len(results.frames) / 1000 for _, what in found], means, label=format, color=COLORS[format], marker=".")
    scores.set(title="Mean SSIMULACRA2, standard errors", xlabel="quality", ylabel="SSIMULACRA2")
    differences.set(title="Difference from the reference, standard errors", xlabel="quality", ylabel="SSIMULACRA2")
    differences.axhline(0, color="black", linewidth=0.8)
    sizes.set(title="Bytes for a score", xlabel="KB a frame", ylabel="SSIMULACRA2", xscale="log")
    for axes in (scores, differences, sizes):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(file, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photod", nargs="?")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--sizes", default="200,400,800")
    parser.add_argument("--qualities", default="10,20,40,60,75,82,90,91,95")
    parser.add_argument("--pictures", type=int, default=54)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--results", default="formats.jsonl")
    parser.add_argument("--ssimulacra2", default="ssimulacra2")
    parser.add_argument("--plot")
    options = parser.parse_args()
    numbers = lambda text: [int(part) for part in text.split(",")]
    if options.folder:
        index, step = numbers(options.part.replace("/", ","))
        sizes = numbers(options.sizes)
        chosen = list(pictures(options.folder, max(sizes)))[:options.pictures][index::step]
        with tempfile.TemporaryDirectory() as work:
            Bench(options.photod, options.ssimulacra2, work).measure(chosen, sizes, numbers(options.qualities), options.results)
    results = Results(read(options.results))
    report(results)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
