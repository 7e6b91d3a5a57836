import Logging
import Synchronization

/// Reads the settings again on SIGHUP, and applies those that can change while the daemon runs.
final class SettingsReloader: Sendable {
  private let load: @Sendable () throws -> Settings
  private let apply: @Sendable (Settings) -> Void
  /// The settings in force.
  private let running: Mutex<Settings>
  private let logger: Logger

  /// - Parameters:
  ///   - settings: the settings with which the daemon started.
  ///   - load: reads all sources again.
  ///   - apply: applies the reloadable settings.
  init(
    _ settings: Settings, logger: Logger, load: @escaping @Sendable () throws -> Settings,
    apply: @escaping @Sendable (Settings) -> Void
  ) {
    running = Mutex(settings)
    self.load = load
    self.apply = apply
    self.logger = logger
  }

  /// The settings in force.
  var current: Settings { running.withLock { $0 } }

  /// Changes nothing if a source can't be read or a value is not valid. Not called by two threads at a time.
  func reload() {
    let former = current
    var next = former
    let loaded: Settings
    let changed: [Setting]
    do {
      loaded = try load()
      changed = Settings.table.filter { loaded.value(of: $0) != former.value(of: $0) }
      for setting in changed where setting.isReloadable { try next.set(setting, to: loaded.value(of: setting)) }
    } catch {
      logger.error("settings not reloaded", metadata: ["error": "\(error)"])
      return
    }
    running.withLock { $0 = next }
    // Changes are logged at the lower of the two levels: an operator who asks for more sees them, and the last lines
    // before a log becomes quieter say why.
    let logsFirst = former.logLevel < next.logLevel
    if logsFirst { log(changed, loaded) }
    apply(next)
    if !logsFirst { log(changed, loaded) }
    logger.info("settings reloaded", metadata: ["changed": "\(changed.count(where: \.isReloadable))"])
  }

  private func log(_ changed: [Setting], _ loaded: Settings) {
    for setting in changed {
      let metadata: Logger.Metadata = ["key": "\(setting.key)", "value": "\(loaded.value(of: setting).text)"]
      if setting.isReloadable {
        logger.info("setting changed", metadata: metadata)
      } else {
        logger.warning("setting needs a restart", metadata: metadata)
      }
    }
  }
}
