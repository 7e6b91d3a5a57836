#!/usr/bin/env python3
"""formats.py PHOTOD FOLDER [--sizes 200,400,800] [--qualities 40,60,82,92] [--pictures 54] [--part I/N] [--results FILE]

Measures what `quality` gives in each format: SSIMULACRA2 against the same frame as PNG, and bytes. The reference is a JPEG
of libjpeg-turbo (cjpeg) with the tables of T.81 and 4:2:0, at the same number; the settings of the other formats are right
if their means equal the reference's. Like photod's quick JPEGs, it has T.81's Huffman tables. Prints, for each quality, the mean score of each format with its standard error, its
difference from the reference, and the bytes beside the reference.

`--part I/N` measures every Nth picture, from the Ith, and adds lines to the results; `--results FILE` without a folder
prints the tables of all lines. Needs numpy, scipy, pillow and ssimulacra2, and cjpeg, djpeg of libjpeg-turbo-progs.
"""
import argparse, json, math, os, statistics, subprocess, sys, tempfile
from pathlib import Path

FORMATS = ["reference", "jpeg", "webp", "avif", "jxl"]


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def pictures(folder):
    """Each photograph whole, and two quarters of it: different pictures for a codec."""
    for path in sorted(Path(folder).rglob("*.jpg")):
        yield path, None
        yield path, (0.05, 0.05, 0.45, 0.45)
        yield path, (0.5, 0.5, 0.45, 0.45)


def measure(photod, folder, sizes, qualities, count, part, results):
    import numpy
    from PIL import Image
    from ssimulacra2 import compute_ssimulacra2
    index, step = part
    chosen = list(pictures(folder))[:count][index::step]
    with tempfile.TemporaryDirectory() as work, open(results, "a") as out:
        whole, frame, decoded = f"{work}/whole.png", f"{work}/frame.png", f"{work}/decoded.png"
        for path, crop in chosen:
            for size in sizes:
                source = str(path)
                if crop:
                    with Image.open(path) as image:
                        width, height = image.size
                        x, y, w, h = crop
                        image.convert("RGB").crop((int(x * width), int(y * height), int((x + w) * width), int((y + h) * height))).save(whole, compress_level=1)
                    source = whole
                run(photod, "render", source, "--target-size", f"{size}x{size}", "--color-space", "srgb", "-o", frame)
                ppm = f"{work}/frame.ppm"
                with Image.open(frame) as image:
                    image.convert("RGB").save(ppm)
                for quality in qualities:
                    for format in FORMATS:
                        coded = f"{work}/coded.{'jpg' if format in ('reference', 'jpeg') else format}"
                        if format == "reference":
                            run("cjpeg", "-quality", str(quality), "-sample", "2x2" if quality <= 90 else "1x1", "-outfile", coded, ppm)
                        else:
                            run(photod, "render", frame, "--format", format, "--quality", str(quality), "-o", coded)
                        if format in ("reference", "jpeg"):
                            with Image.open(coded) as image:
                                image.convert("RGB").save(decoded, compress_level=1)
                        else:
                            run(photod, "render", coded, "--format", "png", "--color-space", "srgb", "-o", decoded)
                        score = compute_ssimulacra2(frame, decoded)
                        line = dict(picture=f"{path.name}{'' if not crop else crop[:2]}", size=size, quality=quality, format=format, score=round(float(score), 3), bytes=os.path.getsize(coded))
                        out.write(json.dumps(line) + "\n")
                        out.flush()


def report(results):
    lines = [json.loads(line) for line in open(results)]
    by = {}
    for line in lines:
        by.setdefault((line["quality"], line["format"]), {})[(line["picture"], line["size"])] = line
    for quality in sorted({line["quality"] for line in lines}):
        reference = by[(quality, "reference")]
        total = sum(line["bytes"] for line in reference.values())
        print(f"quality {quality}: {len(reference)} frames")
        for format in FORMATS:
            found = by.get((quality, format), {})
            keys = [key for key in found if key in reference]
            if not keys:
                continue
            differences = [found[key]["score"] - reference[key]["score"] for key in keys]
            error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0
            mean = statistics.mean(found[key]["score"] for key in keys)
            share = sum(found[key]["bytes"] for key in keys) / sum(reference[key]["bytes"] for key in keys)
            print(f"  {format:10} {mean:6.2f}  difference {statistics.mean(differences):+6.2f} +- {error:.2f}  bytes {100 * share - 100:+6.1f}%")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photod")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--sizes", default="200,400,800")
    parser.add_argument("--qualities", default="40,60,82,92")
    parser.add_argument("--pictures", type=int, default=54)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--results", default="formats.jsonl")
    options = parser.parse_args()
    numbers = lambda text: [int(part) for part in text.split(",")]
    if options.folder:
        index, step = numbers(options.part.replace("/", ","))
        measure(options.photod, options.folder, numbers(options.sizes), numbers(options.qualities), options.pictures, (index, step), options.results)
    report(options.results)


main()
