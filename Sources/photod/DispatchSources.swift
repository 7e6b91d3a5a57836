import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Timers and signal handlers. They work as long as this object lives.
final class DispatchSources: Sendable {
  /// `@unchecked Sendable` because a dispatch source may be used from any thread, but Dispatch does not declare it
  /// `Sendable`.
  private struct Source: @unchecked Sendable {
    let source: any DispatchSourceProtocol

    init(_ source: any DispatchSourceProtocol) { self.source = source }
  }

  private let sources = Mutex<[Source]>([])

  deinit {
    sources.withLock { sources in
      for source in sources { source.source.cancel() }
    }
  }

  /// Calls the handler on `queue`, first after `delay` and then at each interval, in seconds.
  func repeatEvery(
    _ interval: Int, after delay: Int, leeway: DispatchTimeInterval, on queue: DispatchQueue,
    _ handler: @escaping @Sendable () -> Void
  ) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler(handler: handler)
    timer.schedule(deadline: .now() + .seconds(delay), repeating: .seconds(interval), leeway: leeway)
    timer.activate()
    keep(Source(timer))
  }

  /// Calls the handler after each signal with this number, on a global queue. Returns once Dispatch watches for the
  /// signal: one that came earlier would be ignored.
  func onSignal(_ number: Int32, _ handler: @escaping @Sendable () -> Void) async {
    // Otherwise the default action would end the process before Dispatch sees the signal.
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler(handler: handler)
    await withCheckedContinuation { registered in
      source.setRegistrationHandler { registered.resume() }
      source.activate()
      keep(Source(source))
    }
  }

  private func keep(_ source: Source) { sources.withLock { $0.append(source) } }
}
