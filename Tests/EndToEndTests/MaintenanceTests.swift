import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

private let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))

extension TestDaemon.Folders {
  /// A library of pictures that are one file.
  fileprivate convenience init(files: Int) throws {
    try self.init()
    try Data(picture).write(to: URL(filePath: library + "/0.jpg"))
    for i in 1..<max(files, 1) { #expect(link(library + "/0.jpg", "\(library)/\(i).jpg") == 0) }
  }

  fileprivate var options: [String] { ["--library", library, "--data", data] }
}

/// The maintenance commands of the built binary: scan, check, backup, restore.
@Suite("Check, backup, restore and disk faults", .blocking)
struct MaintenanceTests {
  @Test("photod check prints one line for each difference and sets its exit code, while a daemon runs")
  func check() throws {
    let daemon = try TestDaemon({
      try $0.put(picture, "a.jpg")
      try $0.put(picture, "b\nc.jpg")
    })
    let options = ["--library", daemon.library, "--data", daemon.data]
    let same = try TestDaemon.run(["check"] + options)
    #expect(same.status == 0 && same.output == "checked 2 files: no difference\n", "\(same)")
    let folder = daemon.data + "/cache/displaced-1f"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let displaced = try TestDaemon.run(["check"] + options)
    #expect(displaced.status == 0, "\(displaced)")
    #expect(displaced.output == same.output + "not of the disk cache: \(folder)\n", "\(displaced)")
    try FileManager.default.removeItem(atPath: folder)
    unlink(daemon.library + "/a.jpg")
    try TestDaemon.Files(root: daemon.library).put(picture + [0], "b\nc.jpg")
    try TestDaemon.Files(root: daemon.library).put(picture, "d e.jpg")
    let other = try TestDaemon.run(["check"] + options)
    #expect(other.status == 1)
    #expect(
      other.output == """
        only-in-catalogue a.jpg
        changed b\\x0Ac.jpg
        only-on-disk d e.jpg
        checked 2 files: 3 differences (1 changed, 1 only-in-catalogue, 1 only-on-disk)

        """, "\(other)")
    unlink(daemon.library + "/b\nc.jpg")
    unlink(daemon.library + "/d e.jpg")
    try TestDaemon.Files(root: daemon.library).put(picture + [0], "a.jpg")
    let one = try TestDaemon.run(["check"] + options)
    #expect(one.output.hasSuffix("checked 1 file: 2 differences (1 changed, 1 only-in-catalogue)\n"), "\(one)")
    let alone = try TestDaemon.run(["check", "--accept-removals"] + options)
    #expect(alone.output.isEmpty && alone.error.contains("--repair"), "\(alone)")
    for options in [
      ["--library", daemon.library, "--data", daemon.data + "/none"],
      ["--library", daemon.library + "/none", "--data", daemon.data],
    ] {
      let impossible = try TestDaemon.run(["check"] + options)
      #expect(impossible.status == 2 || impossible.error.contains("No such file"), "\(impossible)")
      #expect(impossible.status != 0 && impossible.status != 1 && impossible.output == "", "\(impossible)")
    }
  }

  @Test("a data folder inside the library is refused by each command, and a library inside the data folder too")
  func nestedFolders() throws {
    let folders = try TestDaemon.Folders()
    let link = folders.base + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folders.library)
    let commands = [
      ["serve", "--listen", "127.0.0.1:0"], ["scan"], ["restore", folders.base + "/none"],
      ["import", "apple", folders.base],
    ]
    for (command, data) in zip(commands, ["", "/data", "/not/there/yet", ""].map { link + $0 }) {
      let run = try TestDaemon.run(command + ["--library", folders.library, "--data", data])
      #expect(
        run.status != 0 && run.error.contains("the data folder \(data) is inside the library"), "\(command): \(run)")
    }
    // The parent of a folder that does not exist is known all the same.
    let through = folders.base + "/missing/../link/data"
    let run = try TestDaemon.run(["scan", "--library", folders.library, "--data", through])
    #expect(run.status != 0 && run.error.contains("the data folder \(through) is inside the library"), "\(run)")
    let outer = try TestDaemon.run(["scan", "--library", link, "--data", folders.base])
    #expect(outer.status != 0 && outer.error.contains("is inside the data folder \(folders.base)"), "\(outer)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folders.library).isEmpty)
    // Scans skip hidden folders, such as the standard data folder in the home folder.
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.library + "/.local/photod"])
    // The name of the library is the beginning of another name.
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.library + ".data"])
  }

  @Test("the names of the data folder and of the library are compared byte by byte")
  func foldersOfOtherNames() throws {
    let folders = try TestDaemon.Folders()
    func path(_ names: [UInt8]) -> [CChar] {
      (Array("\(folders.base)/".utf8) + names + [0]).map { CChar(bitPattern: $0) }
    }
    func makeFolder(_ names: [UInt8]) throws { try #require(mkdir(path(names), 0o700) == 0) }
    func makeLink(_ names: [UInt8], to target: [UInt8]) throws {
      try #require(symlink(path(target), path(names)) == 0)
    }
    // Links that lead through folders whose names are not UTF-8.
    let (outside, inside) = ([0xFF] as [UInt8], Array("library/".utf8) + [0xFE])
    for names in [Array("library/data".utf8), Array("out".utf8), outside, inside] { try makeFolder(names) }
    try makeLink(outside + Array("/in".utf8), to: Array("library/data".utf8))
    try makeLink(inside + Array("/out".utf8), to: Array("out".utf8))
    try makeLink(Array("to-outside".utf8), to: outside)
    try makeLink(Array("to-inside".utf8), to: inside)
    func scan(_ library: String, _ data: String) throws -> (status: Int32, output: String, error: String) {
      try TestDaemon.run(["scan", "--library", folders.base + library, "--data", folders.base + data])
    }
    let refusal = "is inside the library"
    let led = try scan("/library", "/to-outside/in")
    #expect(led.status != 0 && led.error.contains(refusal), "\(led)")
    let away = try scan("/library", "/to-inside/out")
    #expect(away.status == 0, "\(away)")
    // A combining mark after a slash begins a name.
    let mark = try scan("/library", "/library/\u{301}d")
    #expect(mark.status != 0 && mark.error.contains(refusal), "\(mark)")
    // One letter, composed and decomposed: two folders.
    for names in ["\u{E9}", "\u{E9}/library"] { try makeFolder(Array(names.utf8)) }
    let other = try scan("/\u{E9}/library", "/e\u{301}/library/data")
    #expect(other.status == 0, "\(other)")
  }

  @Test("a backup of a running daemon can be restored, with the same identifiers")
  func backupAndRestore() throws {
    let daemon = try TestDaemon({ for i in 0..<5 { try $0.put(picture + [UInt8(i)], "\(i).jpg") } })
    let options = ["--library", daemon.library, "--data", daemon.data]
    let identifier = try daemon.identifier("3.jpg")
    let copy = daemon.data + "/../copy.sqlite"
    try TestDaemon.succeed(["backup", copy] + options)
    let again = try TestDaemon.run(["backup", copy] + options)
    #expect(again.status == 1 && again.error.contains("already exists"), "\(again)")
    try TestDaemon.succeed(["backup", copy, "--replace"] + options)
    let own = try TestDaemon.run(["backup", daemon.data + "/catalogue.sqlite", "--replace"] + options)
    #expect(own.status == 1 && own.error.contains("photod itself uses"), "\(own)")
    let refused = try TestDaemon.run(["restore", copy] + options)
    #expect(refused.status == 1 && refused.error.contains("the data folder \(daemon.data) is in use"), "\(refused)")
    #expect(try daemon.get("/healthz").status == 200)
    #expect(daemon.terminate() == 0)
    for name in ["", "-wal", "-shm"] { unlink(daemon.data + "/catalogue.sqlite" + name) }
    let restored = try TestDaemon.run(["restore", copy] + options)
    #expect(restored.status == 0, "\(restored)")
    let check = try TestDaemon.run(["check"] + options)
    #expect(check.status == 0, "\(check)")
    // Also in the default data folder, which follows from the library.
    let home = ["XDG_DATA_HOME": daemon.data + "/home"]
    try TestDaemon.succeed(["restore", copy, "--library", daemon.library], environment: home)
    try TestDaemon.succeed(["check", "--library", daemon.library], environment: home)
    let second = daemon.data + "/../second.sqlite"
    try TestDaemon.succeed(["backup", second, "--library", daemon.library], environment: home)
    let bytes = try Data(contentsOf: URL(filePath: second))
    #expect(bytes.firstRange(of: Data(identifier.utf8)) != nil)
  }

  @Test(
    "a backup or a restore that a signal ends leaves no unfinished file",
    arguments: ["backup", "restore"], [SIGINT, SIGTERM])
  func interrupted(_ command: String, _ signal: Int32) throws {
    let folders = try TestDaemon.Folders(files: 3)
    try TestDaemon.succeed(["scan"] + folders.options)
    // So large that the signal comes before the end of the copy.
    try folders.catalogue { try $0.execute(sql: "CREATE TABLE large AS SELECT zeroblob(100000000) AS bytes") }
    let copy = folders.base + "/copy.sqlite"
    if command == "restore" { try TestDaemon.succeed(["backup", copy] + folders.options) }
    func files() throws -> [String] {
      try [folders.base, folders.data].flatMap { try FileManager.default.contentsOfDirectory(atPath: $0) }
    }
    let before = try files().sorted()
    let run = try KilledProcess([command, copy] + folders.options)
    try TestDaemon.until("the copy has begun") {
      try files().contains { ["copy.sqlite.partial", "catalogue.incoming.sqlite"].contains($0) }
    }
    kill(run.process.processIdentifier, signal)
    run.process.waitUntilExit()
    #expect(run.process.terminationReason == .uncaughtSignal && run.process.terminationStatus == signal)
    // A reader of the catalogue that is killed leaves its log.
    let logs = ["catalogue.sqlite-wal", "catalogue.sqlite-shm"]
    #expect(try files().filter { !logs.contains($0) }.sorted() == before.filter { !logs.contains($0) })
    try TestDaemon.succeed(["check"] + folders.options)
  }

  @Test("a scan after a restore finds an asset that was deleted since the backup in the trash")
  func trashAfterRestore() throws {
    let daemon = try TestDaemon({ for i in 0..<3 { try $0.put(picture + [UInt8(i)], "\(i).jpg") } })
    let options = ["--library", daemon.library, "--data", daemon.data]
    let identifier = try daemon.identifier("1.jpg")
    let copy = daemon.data + "/../copy.sqlite"
    try TestDaemon.succeed(["backup", copy] + options)
    let list = #"{"changes": [{"type": "deleteAsset", "asset": "\#(identifier)"}]}"#
    let deleted = try daemon.post("/v1/changes", list)
    #expect(deleted.status == 200, "\(deleted.json)")
    #expect(daemon.terminate() == 0)
    try TestDaemon.succeed(["restore", copy] + options)
    try TestDaemon.succeed(["scan"] + options)
    let check = try TestDaemon.run(["check"] + options)
    #expect(check.output == "checked 2 files: no difference\n", "\(check)")
  }

  @Test(
    "a scan on a terminal draws a progress bar within its width; elsewhere it prints plain lines",
    arguments: [30, 12, 100])
  func terminal(_ columns: Int) throws {
    let folders = try TestDaemon.Folders(files: 6000)
    let (terminal, other) = try Self.pseudoTerminal(columns: columns)
    let process = Process()
    process.executableURL = URL(filePath: TestDaemon.binary)
    process.arguments = ["scan"] + folders.options
    process.environment = TestDaemon.environment
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle(fileDescriptor: other, closeOnDealloc: false)
    try process.run()
    close(other)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      // EIO: the other end is closed.
      let count = read(terminal, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    close(terminal)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let text = String(decoding: bytes, as: UTF8.self)
    var frames = text.replacingOccurrences(of: "\r\n", with: "\n").components(separatedBy: "\r")
    let last = try #require(frames.last)
    frames.removeLast()
    #expect(last.hasPrefix("\u{1B}[Kscan complete: 6000 files, 6000 read"), "\(last)")
    frames = frames.filter { !$0.isEmpty }
    #expect(!frames.isEmpty)
    for frame in frames {
      #expect(frame.hasSuffix("\u{1B}[K") && !frame.contains("\n"))
      #expect(frame.dropLast(3).count < columns, "\(frame)")
    }
    if columns >= 30 { #expect(frames.contains { $0.hasPrefix("[") && $0.contains("%") }, "\(frames)") }
    #expect(frames.contains { $0.contains("%") }, "\(frames)")
    // The second one knows what to expect; without a terminal it draws nothing.
    let plain = try TestDaemon.run(["scan"] + folders.options)
    #expect(plain.error.hasPrefix("scan complete: 6000 files, 0 read") && !plain.error.contains("\u{1B}"))
  }

  /// Both ends of a terminal of a test's own: pts(4), ioctl_tty(2).
  private static func pseudoTerminal(columns: Int) throws -> (Int32, Int32) {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    var (unlocked, number): (Int32, Int32) = (0, 0)
    let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)  // TIOCSPTLCK, TIOCGPTN
    let isUnlocked = ioctl(terminal, setLock, &unlocked) == 0
    try #require(terminal >= 0 && isUnlocked)
    let isNumbered = ioctl(terminal, getNumber, &number) == 0
    try #require(isNumbered)
    let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    var size = winsize(ws_row: 24, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    let isSized = ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0
    try #require(other >= 0 && isSized)
    return (terminal, other)
  }

  @Test(
    "a full disk ends a scan with an error that names the folder and the reason",
    .enabled(if: TemporaryFileSystem.canMount))
  func fullDisk() throws {
    let folders = try TestDaemon.Folders(files: 2000)
    let disk = try TemporaryFileSystem(at: folders.data, bytes: 400 << 10)
    defer { disk.unmount() }
    let scan = try TestDaemon.run(["scan"] + folders.options)
    #expect(scan.status == 1, "\(scan)")
    let lines = scan.error.split(separator: "\n")
    #expect(
      lines.count == 1 && lines[0].hasPrefix("Error: the data folder \(folders.data): the disk is full;"), "\(scan)")
    try disk.resize(bytes: 16 << 20)
    try TestDaemon.succeed(["scan"] + folders.options)
    try TestDaemon.succeed(["check"] + folders.options)
    try disk.remount(readOnly: true)
    let readOnly = try TestDaemon.run(["scan"] + folders.options)
    #expect(readOnly.status == 1 && readOnly.error.hasPrefix("Error: the data folder \(folders.data): "), "\(readOnly)")
  }

  @Test("a failed write ends a scan with an error, and the next scan continues")
  func failingDisk() throws {
    let folders = try TestDaemon.Folders(files: 2000)
    // No file may grow beyond 200 KB; write(2) then gives EFBIG.
    let run = try TestDaemon.run(["scan"] + folders.options, inShell: "trap '' XFSZ; ulimit -f 400; exec \"$@\"")
    #expect(run.status == 1)
    #expect(run.error.hasPrefix("Error: the data folder \(folders.data): the disk returned an I/O error;"), "\(run)")
    try TestDaemon.succeed(["scan"] + folders.options)
    try TestDaemon.succeed(["check"] + folders.options)
  }

  @Test(
    "a daemon with a full disk serves its catalogue, and scans again once there is space",
    .enabled(if: TemporaryFileSystem.canMount))
  func servingFromAFullDisk() throws {
    var disk: TemporaryFileSystem?
    defer { disk?.unmount() }
    let log = FileManager.default.temporaryDirectory.path + "/photod-log-\(UInt64.random(in: 0 ... .max))"
    #expect(mkfifo(log, 0o600) == 0)
    defer { unlink(log) }
    let daemon = try TestDaemon(
      {
        let data = ($0.root as NSString).deletingLastPathComponent + "/data"
        disk = try TemporaryFileSystem(at: data, bytes: 8 << 20)
        for i in 0..<20 { try $0.put(picture + [UInt8(i)], "\(i).jpg") }
      },
      arguments: ["--set", "cache.diskBytes=0", "--set", "scan.intervalSeconds=0"],
      // The pipe has a writer and a reader from the start, so that neither waits for the other.
      launcher: "exec \"$@\" 2<>\(log)")
    let descriptor = open(log, O_RDWR)
    try #require(descriptor >= 0)
    let lines = LineReader(descriptor)
    let filler = try #require(disk).fill()
    for i in 20..<900 { try TestDaemon.Files(root: daemon.library).put(picture + [UInt8(i & 255), 1], "\(i).jpg") }
    try daemon.requestScan()
    #expect(lines.wait(for: "scan failed"))
    #expect(lines.last.contains("the disk is full") && lines.last.contains(daemon.data), "\(lines.last)")
    let known = try daemon.get("/v1/assets?limit=1000")
    #expect(known.status == 200 && ((known.json["assets"] as? [Any])?.count ?? 0) >= 20)
    let identifier = try daemon.identifier("7.jpg")
    #expect(try daemon.get("/v1/assets/\(identifier)/image?targetSize=16x16").status == 200)
    unlink(filler)
    try daemon.requestScan()
    #expect(lines.wait(for: "scanned"))
    #expect((try daemon.get("/v1/assets?limit=1000").json["assets"] as? [Any])?.count == 900)
    #expect(try daemon.identifier("7.jpg") == identifier)
  }

  /// Lines of a pipe, as they come.
  private final class LineReader {
    private let descriptor: Int32
    private var rest = ""
    private(set) var last = ""

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Reads until a line contains the text; `false` after half a minute without one.
    func wait(for text: String) -> Bool {
      while true {
        while let end = rest.firstIndex(of: "\n") {
          last = String(rest[..<end])
          rest = String(rest[rest.index(after: end)...])
          if last.contains(text) { return true }
        }
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&watched, 1, 30_000) > 0 else { return false }
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return false }
        rest += String(decoding: chunk[..<count], as: UTF8.self)
      }
    }
  }
}
