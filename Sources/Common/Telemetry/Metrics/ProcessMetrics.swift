// The standard process metrics of Prometheus clients, under the same names.

#if canImport(Glibc)
  import Glibc
#endif

/// Registers the metrics of this process.
package enum ProcessMetrics {
  /// - Parameter version: the daemon's version.
  package static func register(in registry: MetricsRegistry, version: String) {
    registry.gauge("photod_build_info", "The running version as a label; always 1.", ["version": version]) { 1 }
    let started = startSeconds()
    registry.gauge("process_start_time_seconds", "Start time of the process in seconds since 1970.") { started }
    registry.gauge("process_resident_memory_bytes", "Resident memory in bytes.", read: residentBytes)
    registry.counter("process_cpu_seconds_total", "CPU time of all threads, user and system.", read: cpuSeconds)
    registry.gauge("process_open_fds", "Open file descriptors.", read: openDescriptors)
    registry.gauge("process_max_fds", "Maximum number of open file descriptors.", read: descriptorLimit)
  }

  /// proc_pid_statm(5): the second number, in pages.
  @Sendable private static func residentBytes() -> Double? {
    guard let pages = contents("/proc/self/statm")?.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
    else { return nil }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  @Sendable private static func cpuSeconds() -> Double? {
    var time = timespec()
    guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
    return Double(time.tv_sec) + Double(time.tv_nsec / 1000) / 1e6
  }

  @Sendable private static func openDescriptors() -> Double? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Do not count the entries `.` and `..` and the descriptor that reads the folder.
    return Double(count - 3)
  }

  /// RLIMIT_NOFILE, which the daemon raises when it starts.
  @Sendable private static func descriptorLimit() -> Double? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    return Double(limit.rlim_cur)
  }

  /// proc_pid_stat(5): field 22, in ticks since boot; the boot time is `btime` in proc_stat(5).
  private static func startSeconds() -> Double? {
    // The second field is a name in parentheses, which can contain any character.
    guard let fields = contents("/proc/self/stat")?.split(separator: ")").last?.split(separator: " "),
      fields.count > 19,
      let ticks = Double(fields[19]),
      let boot = contents("/proc/stat")?.split(separator: "\n").first(where: { $0.hasPrefix("btime ") })?
        .split(separator: " ").last.flatMap({ Double($0) })
    else { return nil }
    return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func contents(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
