import Logging
import Synchronization

/// The zygote of one codec: started on demand, and restarted with backoff when it has ended.
final class DecoderZygote: Sendable {
  typealias Now = @Sendable () -> ContinuousClock.Instant

  /// When the program may be started next.
  private struct RestartBackoff {
    /// Number of consecutive failures: starts that failed, and zygotes that ended soon after their start.
    var failures = 0
    var notBefore: ContinuousClock.Instant?
  }

  /// The longest pause before a restart.
  static let maximumPause = Duration.seconds(30)
  /// A zygote that ran for this long resets the backoff.
  static let stableInterval = Duration.seconds(60)

  let codec: DecoderCodec
  private let path: String
  private let required: SandboxParts
  private let logger: Logger
  private let now: Now
  /// Held while the program starts: other decodes of this codec wait for it.
  private let backoff = Mutex(RestartBackoff())
  private let current = Mutex<ZygoteConnection?>(nil)

  /// - Parameters:
  ///   - required: parts of the sandbox without which the codec is not used.
  ///   - now: the clock of the backoff.
  init(
    _ codec: DecoderCodec, path: String, required: SandboxParts, logger: Logger,
    now: @escaping Now = { ContinuousClock.now }
  ) {
    self.codec = codec
    self.path = path
    self.required = required
    self.logger = logger
    self.now = now
  }

  /// The running zygote, if there is one. Starts none and does not wait.
  var running: ZygoteConnection? { current.withLock { $0 } }

  /// The running zygote, or a new one.
  func connection() throws(DecoderUnavailability) -> ZygoteConnection {
    if let running { return running }
    let outcome = backoff.withLock { backoff -> Result<ZygoteConnection, DecoderUnavailability> in
      if let running { return .success(running) }
      if let notBefore = backoff.notBefore, now() < notBefore { return .failure(.restarting) }
      do throws(DecoderUnavailability) {
        let connection = try ZygoteConnection(program: path)
        let missing = required.subtracting(connection.sandbox)
        guard missing.isEmpty else { throw .sandboxIncomplete(missing: missing) }
        current.withLock { $0 = connection }
        return .success(connection)
      } catch {
        // No pause for a missing program: looking for it costs nothing, and it may be installed later.
        if error != .notInstalled { pause(&backoff) }
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// Forgets a zygote that has ended or does not answer, so that the next decode starts another one.
  func lost(_ connection: ZygoteConnection) {
    let isCurrent = current.withLock { current in
      guard current === connection else { return false }
      current = nil
      return true
    }
    guard isCurrent else { return }
    backoff.withLock { backoff in
      if now() - connection.started >= Self.stableInterval { backoff = RestartBackoff() }
      pause(&backoff)
    }
    logger.warning("decoder ended; it will be started again", metadata: ["codec": "\(codec.name)"])
  }

  /// Ends the zygote. A later decode starts another one.
  func end() {
    // Released without the lock: it waits for the process.
    let ended = current.withLock { current in
      defer { current = nil }
      return current
    }
    withExtendedLifetime(ended) {}
  }

  /// The first start comes at once, later ones after 0.1 s, 0.2 s and so on.
  private func pause(_ backoff: inout RestartBackoff) {
    backoff.failures += 1
    let pause = backoff.failures == 1 ? .zero : Duration.milliseconds(100 << min(backoff.failures - 2, 16))
    backoff.notBefore = now() + min(pause, Self.maximumPause)
  }
}
