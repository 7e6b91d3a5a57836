import PhotoFixtures

extension TestDaemon {
  /// Runs a command as a shell does: `exec "$@" >/dev/full`. What it prints is not kept.
  static func run(_ arguments: [String], inShell script: String) throws -> (status: Int32, error: String) {
    let run = try runToEnd("/bin/sh", ["-c", script, "sh", binary] + arguments, environment: environment)
    return (run.status, run.error)
  }
}
