import CPhotodSystem

/// The cores that this process may use: CPU affinity and cpusets restrict them. The default of all numbers of workers.
enum UsableCores {
  static let count = Int(photod_usable_cores())
}
