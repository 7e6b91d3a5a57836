"""A Ceph cluster of one monitor, one OSD in memory and one RGW, in a folder and on loopback ports."""
import json
import re
import socket
import subprocess
import time
import uuid

KEY, SECRET = "photodcheck", "0secret-of-a-check-0123456789/+"
# A key of the same user that may only read.
READER, READER_SECRET = "photodreader", "1secret-of-a-check-0123456789/+"
# How long a step of the start may take on a busy machine.
START_SECONDS = 120


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Ceph:
    """
    A cluster without cephx, because only this machine reaches it, and without a manager, which would only rebalance and
    report. The one copy of each object is in the memory of the OSD.
    """

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.port, self.session_port = free_port(), free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        monitor = f"v2:127.0.0.1:{free_port()}"
        fsid = uuid.uuid4()
        for name in ("mon", "osd", "run"):
            (folder / name).mkdir()
        self.configuration = folder / "ceph.conf"
        self.configuration.write_text(f"""
[global]
fsid = {fsid}
mon host = [{monitor}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
keyring = {folder}/keyring
run dir = {folder}/run
admin socket = {folder}/run/$name.asok
pid file = {folder}/run/$name.pid
log file = {folder}/$name.log
crash dir = {folder}/run
mon data = {folder}/mon
mon data avail crit = 1
mon allow pool size one = true
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd crush chooseleaf type = 0
osd crush initial weight = 1
osd class update on start = false

[client]
rgw dns name = localhost
rgw data = {folder}/run
# Without cephx there is no key for the secure mode, which RGW has by default.
ms mon client mode = crc
rgw enable usage log = false
rgw thread pool size = 32
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{self.port}
[client.sts]
rgw frontends = beast endpoint=127.0.0.1:{self.session_port}
rgw s3 auth use sts = true
rgw sts key = 0123456789abcdef
""")
        try:
            self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[{monitor}]", folder / "monmap")
            self.run("ceph-mon", "--mkfs", "--id", "a", "--monmap", folder / "monmap")
            self.start("ceph-mon", "--foreground", "--id", "a")
            osd = uuid.uuid4()
            self.run("ceph", "osd", "new", osd)
            self.run("ceph-osd", "--mkfs", "--id", "0", "--osd-uuid", osd)
            self.start("ceph-osd", "--foreground", "--id", "0")
            self.until("the OSD is up", lambda: json.loads(self.run("ceph", "osd", "stat", "-f", "json"))["num_up_osds"])
            self.start("radosgw", "--foreground", "--name", "client.rgw")
            self.until("RGW listens", lambda: listens(self.port))
            self.run("radosgw-admin", "--name", "client.rgw", "user", "create", "--uid", "check", "--display-name", "check",
                     "--access-key", KEY, "--secret-key", SECRET)
            self.run("radosgw-admin", "--name", "client.rgw", "subuser", "create", "--uid", "check", "--subuser", "check:reader",
                     "--access", "read", "--key-type", "s3", "--access-key", READER, "--secret-key", READER_SECRET)
            self.version = re.search(r"version (\S+)", self.run("radosgw", "--version"))[1]
        except BaseException:
            self.stop()
            raise

    def run(self, program, *arguments):
        """Returns what a program prints."""
        done = subprocess.run([program, "--conf", self.configuration, *map(str, arguments)] if program != "monmaptool"
                              else [program, *map(str, arguments)],
                              capture_output=True, text=True, timeout=START_SECONDS)
        if done.returncode:
            raise SystemExit(f"{program} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, program, *arguments):
        with (self.folder / f"{program}.out").open("wb") as output:
            self.processes.append(subprocess.Popen(
                [program, "--conf", self.configuration, *arguments], stdout=output, stderr=output, cwd=self.folder))

    def until(self, what, holds):
        end = time.monotonic() + START_SECONDS
        while not holds():
            ended = [process.args[0] for process in self.processes if process.poll() is not None]
            if ended or time.monotonic() > end:
                output = "".join(path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.out"))
                raise SystemExit(f"Ceph does not start: not {what}. Ended: {ended}\n{output}")
            time.sleep(0.2)

    def start_sessions(self):
        """
        Starts a second RGW that gives and takes session tokens. The first one does not, because such an RGW has the same
        answer for an unknown key and for a wrong secret.
        """
        self.start("radosgw", "--foreground", "--name", "client.sts")
        self.until("the second RGW listens", lambda: listens(self.session_port))
        self.run("radosgw-admin", "--name", "client.rgw", "caps", "add", "--uid", "check", "--caps", "user-policy=*")

    def stop(self):
        for process in reversed(self.processes):
            # No clean shutdown is needed: all data is in memory or in a temporary folder.
            process.kill()
            process.wait()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False
