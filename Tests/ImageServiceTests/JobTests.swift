import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// Tasks that come to the same picture share one job.
@Suite("Shared jobs")
struct JobTests {
  /// Larger than what is read of a file to know what it is.
  private static let photograph = JPEGFile { $0.quality = 98 }.encoded(Scene(seed: 5).pixels(width: 1200, height: 900))
  private static let small = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))

  private static func request(_ side: Int, _ delivery: DeliveryMode = .highQualityFormat) -> ImageRequest {
    ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), deliveryMode: delivery)
  }

  private static func name(_ delivery: ImageDelivery) -> String {
    switch delivery {
    case .degraded: "degraded"
    case .final(let frame): "final \(frame.result.size.width) for \(frame.result.requestID)"
    case .failed(let error): "\(error)"
    }
  }

  @Test("a hundred equal requests open the original once, read it once, and are all answered, each in its name")
  func coalesced() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.photograph)
    studio.shutRenderLane()
    let journal = Journal()
    for i in 0..<100 {
      // Put differently, and the same picture.
      let mode = i % 2 == 0 ? ContentMode.aspectFit : .aspectFill
      var request = Self.request(300)
      request.contentMode = mode
      request.targetSize = .size(PixelSize(width: 400, height: 300))
      _ = studio.request(asset, request, named: "\(i)") { journal.note(Self.name($0)) }
    }
    studio.openRenderLane()
    let lines = await journal.lines(100)
    #expect(Set(lines) == Set((0..<100).map { "final 400 for \($0)" }))
    #expect(studio.originals.opened == 1)
    #expect(studio.originals.bytesRead < Self.photograph.count * 3 / 2)
    await studio.untilIdle()
    #expect(studio.budget.bytesInUse == 0)
  }

  @Test("ninety-nine leave, and the work goes on for the one who stays")
  func oneStays() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.photograph)
    studio.originals.stop()
    let journal = Journal()
    let tasks = (0..<100).map { i in studio.request(asset, named: "\(i)") { journal.note(Self.name($0)) } }
    await studio.originals.readerStopped()
    for task in tasks where task.requestID != "42" { studio.manager.cancel(task) }
    #expect(await journal.lines(99) == Array(repeating: "cancelled", count: 99))
    studio.originals.goOn()
    #expect(await journal.lines(1) == ["final 1200 for 42"])
  }

  @Test("when the last leaves, the render stops where it is, and all that it held is given back")
  func lastLeaves() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.photograph)
    studio.originals.stop()
    let journal = Journal()
    let tasks = (0..<3).map { i in studio.request(asset, named: "\(i)") { journal.note(Self.name($0)) } }
    await studio.originals.readerStopped()
    for task in tasks { studio.manager.cancel(task) }
    _ = await journal.lines(3)
    #expect(studio.manager.activeRequests(owner: nil).isEmpty)
    let before = studio.originals.bytesRead
    studio.originals.goOn()
    // The lane's one worker is free again only when the render has ended.
    let other = studio.originals.add(Self.small, named: "b")
    _ = await studio.deliveries(other)
    #expect(studio.originals.bytesRead - before < Self.photograph.count / 2)
    await studio.untilIdle()
    #expect(studio.budget.bytesInUse == 0)
  }

  @Test("a job that was given up is nobody's: who asks next has one of his own")
  func afterwards() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.photograph)
    studio.shutRenderLane()
    let journal = Journal()
    let task = studio.request(asset) { journal.note(Self.name($0)) }
    studio.manager.cancel(task)
    #expect(await journal.lines(1) == ["cancelled"])
    #expect(studio.manager.waitingJobCount == 0)
    _ = studio.request(asset, named: "again") { journal.note(Self.name($0)) }
    studio.openRenderLane()
    #expect(await journal.lines(1) == ["final 1200 for again"])
  }

  @Test("one who is let go of is told so once, and a second end is none")
  func cancelledTwice() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.small)
    studio.shutRenderLane()
    let journal = Journal()
    let task = studio.request(asset) { journal.note(Self.name($0)) }
    studio.manager.cancel(task)
    studio.manager.cancel(task)
    studio.openRenderLane()
    _ = studio.request(asset, named: "end") { journal.note(Self.name($0)) }
    #expect(await journal.lines(2) == ["cancelled", "final 64 for end"])
  }

  @Test("who measures has a render of his own, and leaves nothing behind")
  func fresh() async throws {
    let studio = Studio { $0.cacheBytes = 1 << 20 }
    let asset = studio.originals.add(Self.small)
    for _ in 0..<3 {
      guard case .final(let frame)? = await studio.deliveries(asset, fresh: true).last else {
        Issue.record("no frame")
        return
      }
      #expect(frame.result.source == .original && frame.cached == nil)
    }
    #expect(studio.originals.opened == 3 && studio.cache.byteCount == 0)
  }

  @Test("a frame that is kept is there at once, before the call returns")
  func kept() async throws {
    let studio = Studio { $0.cacheBytes = 1 << 20 }
    let asset = studio.originals.add(Self.small)
    _ = await studio.deliveries(asset)
    let journal = Journal()
    _ = studio.request(asset, named: "2") { delivery in
      if case .final(let frame) = delivery { journal.note("\(frame.result.source)") }
      journal.note(Self.name(delivery))
    }
    journal.note("returned")
    #expect(await journal.lines(3) == ["memory", "final 64 for 2", "returned"])
    #expect(studio.originals.opened == 1)
  }

  @Test("an error is told to everyone who waits, and nothing of it is kept")
  func failure() async throws {
    let studio = Studio { $0.cacheBytes = 1 << 20 }
    var asset = studio.originals.add(Self.small)
    asset.original.path = Array("gone".utf8)
    for _ in 0..<2 {
      guard case .failed(.originalMissing)? = await studio.deliveries(asset).last else {
        Issue.record("no error")
        return
      }
    }
    #expect(studio.originals.opened == 2 && studio.manager.waitingJobCount == 0)
  }
}
