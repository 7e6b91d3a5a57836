#!/usr/bin/env python3
"""costs.py PHOTOD FOLDER [--sizes 200,400,800,1600] [--rounds 5] [--photographs 12]

The CPU cost of smaller files: minima over rounds in which the contestants take turns.

First, photod's JPEG encoder, compiled from its source with -O2 and called from here: `plain` is baseline with the tables
of T.81 at quality 82, as cjpeg writes it; `tuned` has Robidoux's table at the quality that EncoderQuality gives for 82;
`progressive` has several scans too. Milliseconds a megapixel and bytes of all frames of a size.

Then `photod render` of every photograph of at least 8 megapixels to 400 and 1600 pixels, with `--resample encoded` and
`linear`: milliseconds of the whole process.

Needs Pillow, a C compiler and the headers of libjpeg.
"""
import argparse, ctypes, os, subprocess, tempfile, time
from pathlib import Path

from formats import setting, table

SOURCES = Path(__file__).parent / "../../Sources/Imaging/CPhotodJPEG"
QUALITY = 82


class Sink(ctypes.Structure):
    WRITE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    _fields_ = [("write", WRITE), ("context", ctypes.c_void_p)]


class Options(ctypes.Structure):
    _fields_ = [("width", ctypes.c_uint32), ("height", ctypes.c_uint32), ("components", ctypes.c_int), ("quality", ctypes.c_int),
                ("subsample_chroma", ctypes.c_bool), ("robidoux_table", ctypes.c_bool), ("progressive", ctypes.c_bool),
                ("planar", ctypes.c_bool), ("icc_profile", ctypes.c_void_p), ("icc_profile_length", ctypes.c_size_t)]


class JPEGEncoder:
    def __init__(self, folder):
        library = f"{folder}/libencoder.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", SOURCES / "include", SOURCES / "encoder.c", SOURCES / "errors.c", "-ljpeg", "-o", library], check=True)
        self.library = ctypes.CDLL(library)
        self.library.photod_jpeg_encoder_create.restype = ctypes.c_void_p
        self.library.photod_jpeg_encoder_create.argtypes = [Sink]
        self.library.photod_jpeg_encoder_start.argtypes = [ctypes.c_void_p, Options]
        self.library.photod_jpeg_write_rows.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]
        self.library.photod_jpeg_encoder_finish.argtypes = [ctypes.c_void_p]
        self.library.photod_jpeg_encoder_destroy.argtypes = [ctypes.c_void_p]

    def encode(self, pixels, width, height, quality, robidoux, progressive):
        """Bytes of the file, and CPU seconds."""
        length = 0
        def write(_, __, count):
            nonlocal length
            length += count
            return True
        sink = Sink(Sink.WRITE(write), None)
        start = time.thread_time()
        handle = self.library.photod_jpeg_encoder_create(sink)
        options = Options(width, height, 3, quality, True, robidoux, progressive, False, None, 0)
        failed = (self.library.photod_jpeg_encoder_start(handle, options)
                  or self.library.photod_jpeg_write_rows(handle, pixels, width * 3, height)
                  or self.library.photod_jpeg_encoder_finish(handle))
        self.library.photod_jpeg_encoder_destroy(handle)
        if failed:
            raise RuntimeError("the encoder failed")
        return length, time.thread_time() - start


def codings(paths, sizes, rounds):
    from PIL import Image
    tuned = int(setting(table(), "jpeg", QUALITY))
    contestants = {"plain": (QUALITY, False, False), "tuned": (tuned, True, False), "progressive": (tuned, True, True)}
    with tempfile.TemporaryDirectory() as folder:
        encoder = JPEGEncoder(folder)
        print(f"JPEG, {len(paths)} photographs: CPU ms a megapixel, and bytes beside plain")
        for size in sizes:
            least, bytes, pixels = {}, {}, 0
            for path in paths:
                with Image.open(path) as image:
                    image.draft("RGB", (size, size))
                    image = image.convert("RGB")
                    image.thumbnail((size, size), Image.LANCZOS)
                (width, height), rows = image.size, image.tobytes()
                pixels += width * height
                seconds = {}
                for _ in range(rounds):
                    for name, settings in contestants.items():
                        length, took = encoder.encode(rows, width, height, *settings)
                        seconds[name] = min(took, seconds.get(name, took))
                        if _ == 0:
                            bytes[name] = bytes.get(name, 0) + length
                for name in contestants:
                    least[name] = least.get(name, 0) + seconds[name]
            print(f"{size:5}  " + "  ".join(f"{name} {least[name] / pixels * 1e9:5.1f} ms {100 * bytes[name] / bytes['plain'] - 100:+5.1f}%" for name in contestants), flush=True)


def scaling(photod, paths, rounds):
    from PIL import Image
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            with Image.open(path) as image:
                width, height = image.size
            if width * height < 8e6:
                continue
            for size in (400, 1600):
                least = {}
                for _ in range(rounds):
                    for resampling in ("encoded", "linear"):
                        process = subprocess.Popen([photod, "render", path, "--target-size", f"{size}x{size}", "--resample", resampling, "-o", f"{folder}/out.jpg", "--replace"])
                        _, status, usage = os.wait4(process.pid, 0)
                        process.returncode = status
                        if status:
                            raise SystemExit("photod failed")
                        took = usage.ru_utime + usage.ru_stime
                        least[resampling] = min(took, least.get(resampling, took))
                print(f"{path.name}, {width * height / 1e6:.1f} MP, to {size}: " + "  ".join(f"{name} {1000 * took:.0f} ms" for name, took in least.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photod")
    parser.add_argument("folder")
    parser.add_argument("--sizes", default="200,400,800,1600")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--photographs", type=int, default=12)
    options = parser.parse_args()
    paths = sorted(Path(options.folder).rglob("*.jpg"))
    codings(paths[:options.photographs], [int(size) for size in options.sizes.split(",")], options.rounds)
    scaling(options.photod, paths, options.rounds)


if __name__ == "__main__":
    main()
