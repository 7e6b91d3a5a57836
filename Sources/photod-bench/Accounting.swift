import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// What the kernel says that processes have used (proc(5)).
enum Accounting {
  /// User and system time of a process and its children that are still there.
  static func cpuSeconds(of process: Int32) throws -> Double {
    // The 14th and 15th field of stat, the 12th and 13th behind the name, which may hold spaces.
    guard let data = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
      let rest = String(decoding: data, as: UTF8.self).split(separator: ")").last
    else { throw BenchError(description: "process \(process) has gone") }
    let fields = rest.split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw BenchError(description: "an unreadable /proc/\(process)/stat")
    }
    let own = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    return try children(of: process).reduce(own) { try $0 + cpuSeconds(of: $1) }
  }

  static func residentBytes(of process: Int32) throws -> Int {
    guard let data = FileManager.default.contents(atPath: "/proc/\(process)/status"),
      let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
      let kilobytes = Int(line.split(separator: " ")[1])
    else { throw BenchError(description: "process \(process) has gone") }
    return kilobytes * 1024
  }

  private static func children(of process: Int32) -> [Int32] {
    let data = FileManager.default.contents(atPath: "/proc/\(process)/task/\(process)/children") ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
  }
}
