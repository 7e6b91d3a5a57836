import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The system calls of a scan, counted by strace: opened files and reads.
struct ScanCalls {
  private let run: ScanRun

  init(_ run: ScanRun) {
    self.run = run
  }

  func printTable() throws {
    print("\nSystem calls of one scan each, counted by strace\n")
    let table = Table(
      [
        "scan", "openat2 of files", "openat2 of folders", "other opens below the library", "pread64", "pwrite64", "all",
      ],
      labels: 1)
    let data = run.folder + "/traced"
    for name in ["the first", "the second"] {
      let calls = try trace(data)
      let opens = calls.filter { $0.hasPrefix("openat2(") }
      let folders = opens.count { $0.contains("O_DIRECTORY") }
      let others = calls.count {
        ($0.hasPrefix("openat(") || $0.hasPrefix("open(")) && $0.contains(run.library.folder + "/")
      }
      func count(_ call: String) -> String { "\(calls.count { $0.hasPrefix(call + "(") })" }
      table.row(
        [name, "\(opens.count - folders)", "\(folders)", "\(others)", count("pread64"), count("pwrite64")]
          + ["\(calls.count)"])
    }
  }

  /// All calls of a scan, each a line that begins with its name.
  private func trace(_ data: String) throws -> [Substring] {
    let file = run.folder + "/calls"
    let scan = ScanContestant.scan(run.photod, run.library.folder, data: data, settings: run.settings)
    _ = try Command(["strace", "-f", "-qq", "-s", "0", "-o", file] + scan).usage(hiding: STDERR_FILENO)
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    // "PID name(…". A call that another thread interrupts has a second line for its end, which is ignored.
    return text.split(separator: "\n").map { $0.drop(while: \.isNumber).drop { $0 == " " } }.filter {
      !$0.hasPrefix("<")
    }
  }
}
