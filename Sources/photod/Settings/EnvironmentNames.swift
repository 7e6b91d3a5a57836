#if canImport(Glibc)
  import Glibc
#endif

/// The PHOTOD_* variables of the environment that are not settings.
enum EnvironmentNames {
  /// The variable with the path of the settings file, like `--config`.
  static let settingsFile = "PHOTOD_CONFIG"

  /// Variables that other programs set or read. Kubernetes sets the first group for a service that is named photod; the
  /// others control tests, benchmarks and scripts of this project.
  private static let foreignNames: Set<String> = [
    "PHOTOD_PORT", "PHOTOD_BINARY", "PHOTOD_THOROUGH", "PHOTOD_LEAK_REQUESTS", "PHOTOD_RESTARTS", "PHOTOD_KILLS",
    "PHOTOD_BENCH",
  ]
  private static let foreignPrefixes = ["PHOTOD_PORT_", "PHOTOD_SERVICE_", "PHOTOD_TEST_", "PHOTOD_BENCH_"]

  /// Refuses a variable that looks like a setting but is not one: a misspelt name would otherwise have no effect. Also
  /// refuses a value that is not UTF-8, which Swift would take for another text.
  static func check(_ environment: [String: String]) throws(SettingsError) {
    let known = Set(Settings.table.map(\.environmentVariable)).union([settingsFile])
    for name in environment.keys.sorted() where name.hasPrefix("PHOTOD_") {
      if known.contains(name) || foreignNames.contains(name) || foreignPrefixes.contains(where: name.hasPrefix) {
        continue
      }
      throw SettingsError(
        description: "the environment variable \(name) sets no setting\(NearestName.hint(name, among: known))")
    }
    for name in known.sorted() {
      if let value = getenv(name), String(validatingCString: value) == nil {
        throw SettingsError(description: "the value of the environment variable \(name) is not UTF-8")
      }
    }
  }
}
