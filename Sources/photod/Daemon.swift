// The life cycle of the daemon: start, serve, and drain on SIGTERM or SIGINT. SIGHUP reads the settings
// again.

import HTTPServer
import Logging
import PhotoAPI
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct Daemon: Sendable {
  /// The listening sockets: addresses to bind, or sockets inherited from a service manager.
  enum Sockets {
    case bind([ListenAddress])
    case inherited([Int32], [ListenAddress])

    var addresses: [ListenAddress] {
      switch self {
      case .bind(let addresses), .inherited(_, let addresses): addresses
      }
    }
  }

  /// How long a stopped scan may take to end, even if no time for draining is left.
  private static let minimumScanEnd = Duration.seconds(2)

  let server: Server
  let sockets: Sockets
  /// Its folder or its address.
  let library: String
  let scans: ScanScheduler
  let maintenance: Maintenance
  let images: ImageServices
  let streams: ChangeStreams
  let reloader: SettingsReloader
  let heartbeat: Heartbeat
  /// Stops scans and maintenance.
  let stop: StopFlag
  private let logger = Logger(label: "photod")
  private let signals = DispatchSources()

  /// Serves until SIGTERM or SIGINT, then drains.
  func run() async throws {
    // Before READY is announced: an early signal must not run the default action.
    let terminationSignals = await endingSignals()
    await signals.onSignal(SIGHUP) { [reloader] in reloader.reload() }
    let bound: [ListenAddress]
    do {
      switch sockets {
      case .bind(let addresses): bound = try server.start(at: addresses)
      case .inherited(let descriptors, let addresses):
        server.start(on: descriptors)
        bound = addresses
      }
    } catch {
      throw CommandFailure(description: "\(error)")
    }
    for address in bound {
      logger.info("listening", metadata: ["url": "\(address.url)", "library": "\(library)"])
      // write(2), not print: print buffers the line, and if it could not be written, the command would fail when the
      // daemon ends. The log has the address too.
      var line = "photod serves \(library) at \(address.url)\n"
      line.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
    Systemd.notify("READY=1\nSTATUS=\(heartbeat.status())")
    heartbeat.start()
    maintenance.start()
    scans.start()
    let signal = await terminationSignals.first { _ in true } ?? SIGTERM
    logger.info("draining", metadata: ["signal": "\(signal)"])
    heartbeat.stop()
    Systemd.notify("STOPPING=1\nSTATUS=finishing the requests in progress")
    stop.raise()
    images.background.cancel()
    streams.end()
    let (start, drainTimeout) = (ContinuousClock.now, reloader.current.drainTimeout)
    await withCheckedContinuation { continuation in
      server.drain(deadline: drainTimeout) { continuation.resume() }
    }
    let remaining = drainTimeout - (ContinuousClock.now - start)
    let isScanFinished = await scans.finish(within: max(remaining, Self.minimumScanEnd))
    let closing = Task { [images, maintenance] in
      await images.close()
      maintenance.finish()
    }
    if isScanFinished {
      await closing.value
    } else {
      // The next scan finds what this one has not stored.
      logger.warning("a scan has not ended in time; exiting without it")
      // These steps may wait for locks that the scan holds.
      let isClosed = await ends(within: Self.minimumScanEnd) { done in
        Task {
          await closing.value
          done()
        }
      }
      if !isClosed { logger.warning("the caches and the catalogue's log could not be written out in time") }
    }
    logger.info("stopped")
  }

  /// A stream of the signals that end the daemon, from now on.
  private func endingSignals() async -> AsyncStream<Int32> {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingOldest(1))
    for number in [SIGTERM, SIGINT] { await signals.onSignal(number) { continuation.yield(number) } }
    return stream
  }
}
