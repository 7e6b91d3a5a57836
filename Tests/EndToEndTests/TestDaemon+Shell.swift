import PhotoFixtures

extension TestDaemon {
  /// Runs a command by a shell script such as `exec "$@" >/dev/full`. Its standard output is discarded.
  static func run(_ arguments: [String], inShell script: String) throws -> (status: Int32, error: String) {
    let run = try runToEnd("/bin/sh", ["-c", script, "sh", binary] + arguments, environment: environment)
    return (run.status, run.error)
  }
}
