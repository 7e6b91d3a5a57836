#if canImport(Glibc)
  import Glibc
#endif

/// Lets a command remove its unfinished files before SIGHUP, SIGINT or SIGTERM ends the process. Works as long as this
/// object lives.
final class EndingSignals: Sendable {
  private let sources = DispatchSources()

  /// - Parameter cleanUp: called on a thread of its own, while the command goes on. It calls the function that it gets,
  ///   which ends the process.
  init(_ cleanUp: @escaping @Sendable (_ exit: () -> Void) -> Void) async {
    for number in [SIGHUP, SIGINT, SIGTERM] where !Self.isIgnored(number) {
      await sources.onSignal(number) {
        cleanUp { EndingSignals.runDefaultAction(of: number) }
      }
    }
  }

  /// Whether the parent wants the signal ignored: nohup does, and a shell for the background commands of a script.
  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    return handler == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Ends the process by a signal, so that its parent sees which one it was. Threads of Dispatch block signals.
  private static func runDefaultAction(of number: Int32) {
    signal(number, SIG_DFL)
    var numbers = sigset_t()
    sigemptyset(&numbers)
    sigaddset(&numbers, number)
    pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
    raise(number)
  }
}
