import ImageCodec
import ImageService
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Originals in the cloud")
struct CloudOriginalTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 640, height: 480))

  private let cloud: CloudOriginals
  private let harness: ImageManagerHarness
  private let asset: Asset

  init() throws {
    let cloud = try CloudOriginals()
    self.cloud = cloud
    harness = ImageManagerHarness {
      $0.originals = cloud.store
      $0.waitingJobs = 1
    }
    asset = harness.originals.add(Self.picture)
  }

  private func request(
    _ name: String, allowsNetwork: Bool, side: Int = 100, mode: DeliveryMode = .highQualityFormat,
    priority: ImagePriority = .normal, _ log: EventLog
  ) -> ImageTask {
    var context = ImageManager.RequestContext(requestID: name, caller: "me")
    context.allowsNetwork = allowsNetwork
    context.priority = priority
    var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)))
    request.deliveryMode = mode
    return harness.manager.requestImage(ResolvedRequest(request, for: asset), context) { delivery in
      switch delivery {
      case .progress(let share): log.append("\(name) \(Int(share * 100))%")
      case .degraded: log.append("\(name) degraded")
      case .final(let frame): log.append("\(name) final \(frame.result.source)")
      case .failed(let error): log.append("\(name) \(error)")
      }
    }
  }

  @Test func `Tasks with the network share a job that waits, and those without get an error at once`() async throws {
    let log = EventLog()
    _ = request("a", allowsNetwork: true, log)
    let wait = try #require(try await cloud.waits(1).first)
    _ = request("b", allowsNetwork: false, log)
    #expect(await log.next() == "b inCloud")
    _ = request("c", allowsNetwork: true, mode: .opportunistic, log)
    wait.onBytes(ArrivingBytes(Self.picture, available: (Self.picture.count + 1) / 2))
    #expect(await log.next() == "c 50%")
    wait.onBytes(ArrivingBytes(Self.picture, available: Self.picture.count / 2 + 10))
    wait.ended(.success(try cloud.file(Self.picture)))
    let ends = [await log.next(), await log.next()]
    #expect(Set(ends) == ["a final network", "c final network"])
    #expect(try await cloud.waits(1).count == 1)
  }

  @Test func `Jobs that wait for a download leave the queue of renders to others, and have a limit of their own`()
    async throws
  {
    let log = EventLog()
    _ = request("a", allowsNetwork: true, log)
    let wait = try #require(try await cloud.waits(1).first)
    #expect(harness.manager.waitingJobCount == 0)
    #expect(harness.manager.request("a", owner: "me")?.stage == .downloading)
    _ = request("b", allowsNetwork: true, side: 50, log)
    #expect(await log.next() == "b queueFull")
    wait.ended(.failure(.timedOut))
    #expect(await log.next() == "a downloadFailed(PhotoModel.OriginalDownloadError.timedOut)")
  }

  @Test func `The download is cancelled with the last task, and repeated for a task with more urgency`() async throws {
    let log = EventLog()
    let first = request("a", allowsNetwork: true, priority: .preheat, log)
    let slow = try #require(try await cloud.waits(1).first)
    #expect(!slow.isUrgent)
    let second = request("b", allowsNetwork: true, log)
    let waits = try await cloud.waits(2)
    #expect(waits[1].isUrgent)
    try await eventually { slow.isCancelled }
    harness.manager.cancel(first)
    #expect(await log.next() == "a cancelled")
    #expect(!waits[1].isCancelled)
    harness.manager.cancel(second)
    #expect(await log.next() == "b cancelled")
    #expect(waits[1].isCancelled)
    // A late end of a cancelled download changes nothing.
    waits[1].ended(.failure(.timedOut))
    #expect(harness.manager.activeRequests(owner: nil).isEmpty)
  }

  @Test func `A download that becomes urgent while it begins stays urgent`() async throws {
    let log = EventLog()
    cloud.gate.shut()
    _ = request("a", allowsNetwork: true, priority: .preheat, log)
    await cloud.gate.waitUntilBlocked()
    _ = request("b", allowsNetwork: true, log)
    let waits = try await cloud.waits(2)
    #expect(!waits[0].isUrgent && waits[1].isUrgent)
    cloud.gate.open()
    try await eventually { waits[0].isCancelled || waits[1].isCancelled }
    #expect(!waits[1].isCancelled)
    waits[1].ended(.success(try cloud.file(Self.picture)))
    let ends = [await log.next(), await log.next()]
    #expect(Set(ends) == ["a final network", "b final network"])
  }

  @Test func `A request that waits for a download fails at its deadline as a download that timed out`() async throws {
    let log = EventLog()
    _ = request("a", allowsNetwork: true, log)
    let wait = try #require(try await cloud.waits(1).first)
    harness.clock.advance(by: .seconds(61))
    harness.manager.expire()
    #expect(await log.next() == "a downloadFailed(PhotoModel.OriginalDownloadError.timedOut)")
    #expect(wait.hasExpired && !wait.isCancelled)
  }
}
