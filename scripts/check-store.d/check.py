"""check.py PHOTOD PHOTOD-DEMO WORK : the checks of scripts/check-store."""
import signal
import subprocess
import sys

from ceph import KEY, SECRET, Ceph
from common import LIBRARY, STRANGE, Bucket, attempt, check, demo, failed, photod, photograph, settings, work
from daemon import Daemon
from keeping import check_derivatives, check_kept
from proxy import Proxy
from reading import check_changes_of_others, check_images, check_pieces, check_progress, check_scan
from refusing import check_down, check_reader, check_session, check_wrong_key
from writing import check_emptied, check_staged, check_trash, check_uploads, check_versions

# More than a page of ListObjectsV2. Their keys come before those of all pictures.
OTHER_FILES = 1100


def main():
    library = work / "library"
    subprocess.run([demo, "library", library, "--scale", "0.4"], check=True, stdout=subprocess.DEVNULL)
    (library / "2026").mkdir()
    photograph(library / STRANGE, 39)
    files = [path for path in library.rglob("*") if path.is_file()]
    folder = work / "ceph"
    folder.mkdir()
    ceph = Ceph(folder)
    try:
        print(f"Ceph {ceph.version} at {ceph.endpoint}", flush=True)
        bucket = Bucket(ceph.endpoint)
        for path in files:
            bucket.put(str(path.relative_to(library)), path.read_bytes())
        for number in range(OTHER_FILES):
            bucket.put(f"0/{number:04}.txt", b"x")
        check_all(ceph, bucket, library, sum(path.stat().st_size for path in files))
    finally:
        ceph.stop()


def check_all(ceph, bucket, library, size):
    proxy, key, data = Proxy(ceph.port), (KEY, SECRET), work / "data"
    shared = settings(proxy.port, "cache.derivatives=s3://small/d")
    with Daemon(photod, library, work / "reference") as reference, Daemon(photod, LIBRARY, data, shared, key) as daemon:
        daemon.first_scan()
        reference.first_scan()
        attempt(check_scan, daemon, reference, proxy, size)
        attempt(check_images, daemon, reference)
        attempt(check_progress, daemon, bucket, proxy)
        attempt(check_pieces, daemon, bucket)
        attempt(check_changes_of_others, daemon, bucket)
        attempt(check_uploads, daemon, bucket)
        attempt(check_staged, daemon, bucket)
        attempt(check_trash, daemon, bucket)
        attempt(check_derivatives, daemon, bucket, shared, key)
        attempt(check_down, daemon, proxy)
    with Daemon(photod, LIBRARY, data, shared + ["trash.retentionDays=0"], key) as daemon:
        attempt(check_emptied, daemon, bucket)
        known = daemon.assets().keys()
    hosts = [f"s3.endpoint=http://localhost:{ceph.port}", "remote.allowPrivateAddresses=true"]
    with Daemon(photod, LIBRARY, work / "third", hosts, key) as daemon:
        daemon.first_scan()
        check("the bucket in the host name: the same assets", daemon.assets().keys() == known, daemon.assets().keys() ^ known)
        attempt(check_kept, daemon, bucket)
    attempt(check_wrong_key, bucket, work / "third", ceph.port, known)
    attempt(check_versions, bucket, ceph.port)
    attempt(check_reader, ceph.port, known)
    attempt(check_session, ceph, known)


# SIGTERM becomes an exception, so that Ceph is stopped then, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
main()
sys.exit(len(failed) > 0)
