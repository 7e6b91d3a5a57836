import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The kernel's resource usage of processes (proc(5)).
enum ProcessUsage {
  /// User and system time of a process, including its finished threads, and of its running children.
  ///
  /// Read from the process's CPU clock, which counts nanoseconds: `/proc/PID/stat` counts ticks of 10 ms, and
  /// `/proc/PID/task` omits finished threads.
  static func cpuSeconds(of process: Int32) throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { throw exited(process) }
    let own = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    return try children(of: process).reduce(own) { try $0 + cpuSeconds(of: $1) }
  }

  /// CPU time of `work` on the calling thread.
  static func cpuSeconds(_ work: () throws -> Void) rethrows -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let before = now()
    try work()
    return now() - before
  }

  static func residentBytes(of process: Int32) throws -> Int { try status("VmRSS", of: process) }

  static func residentBytesWithChildren(of process: Int32) throws -> Int {
    try children(of: process).reduce(residentBytes(of: process)) { try $0 + residentBytesWithChildren(of: $1) }
  }

  /// The number of open descriptors of a process.
  static func descriptors(of process: Int32) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
  }

  /// Peak resident memory since the process began, or since `resetPeak`.
  static func peakBytes(of process: Int32) throws -> Int { try status("VmHWM", of: process) }

  /// Sets the peak to the resident memory now.
  static func resetPeak(of process: Int32) throws {
    guard let file = fopen("/proc/\(process)/clear_refs", "w") else { throw exited(process) }
    defer { fclose(file) }
    fputs("5", file)
  }

  private static func status(_ name: String, of process: Int32) throws -> Int {
    guard let data = FileManager.default.contents(atPath: "/proc/\(process)/status"),
      let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let kilobytes = Int(line.split(whereSeparator: \.isWhitespace)[1])
    else { throw exited(process) }
    return kilobytes * 1024
  }

  private static func exited(_ process: Int32) -> BenchError { BenchError(description: "process \(process) has ended") }

  private static func children(of process: Int32) -> [Int32] {
    let data = FileManager.default.contents(atPath: "/proc/\(process)/task/\(process)/children") ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
  }
}
