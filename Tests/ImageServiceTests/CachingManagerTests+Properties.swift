import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// Invariants after any sequence of events from clients and the library.
extension CachingManagerTests {
  /// A naive model: computes the expected state again for each question, from the recorded events. For managers whose
  /// margins never shrink.
  private struct Model {
    struct Manager {
      var started: Set<Int> = []
      var moves: [(at: ContinuousClock.Instant, visible: Range<Int>, margin: Int)] = []
      /// The positions that the window keeps.
      var held: Set<Int> = []
      /// Positions that were refused in a fling: until they leave the window or the fling ends.
      var refused: Set<Int> = []
    }

    let count: Int
    var managers: [String: Manager] = [:]
    /// Every frame of the current content that was ever made, and is therefore in memory.
    var made: Set<Int> = []
    var deleted: Set<Int> = []

    /// Positions per second from the moves of the last 150 ms in the same direction, and the highest possible speed.
    private func speed(
      _ moves: [(at: ContinuousClock.Instant, visible: Range<Int>, margin: Int)], _ now: ContinuousClock.Instant
    ) -> (likely: Double, fastest: Double) {
      guard moves.count >= 2, let last = moves.last else { return (0, 0) }
      let before = moves[moves.count - 2]
      let step = last.visible.lowerBound - before.visible.lowerBound
      if step == 0 { return (0, 0) }
      func seconds(_ from: ContinuousClock.Instant, _ to: ContinuousClock.Instant) -> Double {
        from.duration(to: to) / .seconds(1)
      }
      if now >= last.at + .seconds(0.25) { return (0, 0) }
      var base = moves.count - 1
      while base > 0, seconds(moves[base - 1].at, last.at) <= 0.15,
        (moves[base].visible.lowerBound - moves[base - 1].visible.lowerBound).signum() == step.signum()
      { base -= 1 }
      if base == moves.count - 1 {
        return (Double(step) / 0.1, Double(step) * 60)
      }
      let speed =
        Double(last.visible.lowerBound - moves[base].visible.lowerBound)
        / max(1.0 / 60, seconds(moves[base].at, last.at))
      return (speed, speed)
    }

    mutating func look(_ id: String, at now: ContinuousClock.Instant) {
      guard var manager = managers[id] else { return }
      defer { managers[id] = manager }
      guard let last = manager.moves.last else { return }
      let (speed, fastest) = speed(manager.moves, now)
      let visible = last.visible
      func around(_ before: Int, _ after: Int) -> Set<Int> {
        Set(max(0, visible.lowerBound - before)..<min(count, visible.upperBound + after)).subtracting(deleted)
      }
      let kept = around(2 * last.margin, 2 * last.margin)
      if abs(speed) * 0.25 > Double(visible.count) {
        let gone = min(visible.count, Int(abs(fastest) * 0.05))
        let wanted = around(0, 0).intersection(speed > 0 ? visible.dropFirst(gone) : visible.dropLast(gone))
        manager.refused.formIntersection(kept)
        manager.refused.formUnion(wanted.subtracting(made).subtracting(manager.held))
        manager.held.formIntersection(kept)
        manager.held.formUnion(wanted.intersection(made).subtracting(manager.refused))
      } else {
        let ahead = min(last.margin + Int(abs(speed) * 0.5), 2 * last.margin)
        let wanted = speed < 0 ? around(ahead, last.margin) : around(last.margin, ahead)
        manager.held = manager.held.intersection(kept).union(wanted)
        manager.refused = manager.refused.intersection(kept).subtracting(wanted)
      }
    }

    /// Starts entries. The window keeps them too, even if it was refused them in a fling.
    mutating func start(_ chosen: [Int], _ id: String) {
      var manager = managers[id, default: .init()]
      manager.started.formUnion(Set(chosen).subtracting(deleted))
      manager.held.formUnion(manager.refused.intersection(chosen))
      manager.refused.subtract(chosen)
      managers[id] = manager
    }

    mutating func lookAtAll(_ now: ContinuousClock.Instant) {
      for id in managers.keys { look(id, at: now) }
      made.formUnion(pinned)
    }

    var pinned: Set<Int> {
      managers.values.reduce(into: []) { $0.formUnion($1.held.union($1.started)) }
    }
  }

  @Test("after random moves, changes and lease ends, the pinned keys equal the model's")
  func property() async throws {
    var random = Sampling.generator("moves of windows")
    var limits = CachingLimits()
    limits.windowParameters.rememberedOutcomes = .infinity
    for _ in 0..<Sampling.count(20, thorough: 60) {
      let harness = CachingHarness(60, limits) { $0.cacheBytes = 64 << 20 }
      var model = Model(count: 60)
      var ids = ["default"]
      var deletedAssets: [Int: Asset] = [:]
      var log = [Sampling.note]
      func now() -> ContinuousClock.Instant { harness.images.clock.now }
      for _ in 0..<16 {
        let id = ids[Int.random(in: 0..<ids.count, using: &random)]
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5:
          let first = Int.random(in: 0..<50, using: &random)
          let visible = first..<min(60, first + Int.random(in: 1...12, using: &random))
          let margin = Int.random(in: 0...8, using: &random)
          log.append("\(id.prefix(4)) sees \(visible), margin \(margin)")
          _ = try harness.move(visible, margin: margin, id: id)
          model.managers[id, default: .init()].moves.append((now(), visible, margin))
        case 5:
          let chosen = (0..<Int.random(in: 1...6, using: &random)).map { _ in Int.random(in: 0..<60, using: &random) }
          log.append("\(id.prefix(4)) starts \(chosen)")
          _ = try harness.start(chosen, id: id)
          model.start(chosen, id)
        case 6:
          let chosen = (0..<30).map { _ in Int.random(in: 0..<60, using: &random) }
          log.append("\(id.prefix(4)) stops \(chosen)")
          _ = try harness.stop(chosen, id: id)
          model.managers[id, default: .init()].started.subtract(chosen)
        case 7:
          let index = Int.random(in: 0..<60, using: &random)
          if let asset = deletedAssets.removeValue(forKey: index) {
            log.append("\(index) comes back")
            harness.library.restore(index, from: asset)
            model.deleted.remove(index)
          } else if Bool.random(using: &random) {
            log.append("\(index) goes")
            deletedAssets[index] = harness.library[index]
            harness.library.delete(index)
            model.deleted.insert(index)
            for name in model.managers.keys {
              model.managers[name]?.started.remove(index)
              model.managers[name]?.held.remove(index)
            }
          } else {
            log.append("\(index) is another")
            harness.library.edit(index)
            model.made.remove(index)
            for name in model.managers.keys { model.managers[name]?.held.remove(index) }
          }
          harness.managers.libraryDidChange()
          // The refresh begins after 200 ms. It reads the clock, which must not advance until the refresh is over.
          harness.advance(by: .milliseconds(200))
          try await harness.untilQuiet()
          model.lookAtAll(now())
          harness.advance(by: .milliseconds(100))
        case 8:
          if ids.count < 4 {
            log.append("one more")
            ids.append(try harness.managers.make(for: CachingHarness.owner, lease: .seconds(200)).id)
          }
        case 9:
          log.append("\(id.prefix(4)) ends")
          _ = harness.managers.end(id, for: CachingHarness.owner)
          model.managers[id] = nil
          if id != "default" { ids.removeAll { $0 == id } }
        case 10:
          log.append("the leases of all but default end")
          _ = try harness.managers.status("default", for: CachingHarness.owner)
          harness.advance(by: .seconds(200))
          harness.managers.tick()
          for id in ids.dropFirst() { model.managers[id] = nil }
          ids = ["default"]
        default:
          let milliseconds = [1, 10, 40, 100, 300, 2000].randomElement(using: &random) ?? 1
          log.append("\(milliseconds) ms")
          harness.advance(by: .milliseconds(milliseconds))
        }
        try await harness.untilQuiet()
        model.lookAtAll(now())
        #expect(harness.pinned() == model.pinned, "\(log.joined(separator: "; "))")
        let all = harness.managers.all(of: CachingHarness.owner)
        #expect(harness.images.cache.pinCount == all.reduce(0) { $0 + $1.ready }, "\(log.joined(separator: "; "))")
        // Each on its own, including a deleted asset.
        for status in all {
          let own = model.managers[status.id].map { $0.held.union($0.started).count } ?? 0
          #expect(status.ready == own, "\(status.id.prefix(4)): \(log.joined(separator: "; "))")
        }
        if harness.pinned() != model.pinned { return }
      }
    }
  }

  @Test("after random changes of a list, the pinned keys surround the assets that were visible")
  func listProperty() async throws {
    var random = Sampling.generator("changes of a list")
    func below(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }
    for round in 0..<Sampling.count(20, thorough: 60) {
      let harness = CachingHarness(60, Self.steady)
      let list = ChangingList(harness.library, Array(10..<50).shuffled(using: &random), isLong: round % 3 == 0)
      let ids = ["default", try harness.managers.make(for: CachingHarness.owner).id]
      var visible: [String: Range<Int>] = [:]
      var margins: [String: Int] = [:]
      var started: Set<Int> = []
      var gone: [Int: Asset] = [:]
      var log = [Sampling.note, "\(list.rows)"]
      func move(_ id: String) throws {
        let rows = list.rows
        let first = below(max(1, rows.count))
        let range = first..<min(rows.count, first + 1 + below(8))
        margins[id] = below(6)
        log.append("\(id.prefix(3)) sees \(range), margin \(margins[id] ?? 0)")
        try harness.move(range, margin: margins[id] ?? 0, id: id, over: list.source)
        visible[id] = range
      }
      for _ in 0..<16 {
        switch below(8) {
        case 0..<2: try move(ids[below(2)])
        case 2..<5:
          let old = list.rows
          list.change { rows in
            for _ in 0...below(3) {
              switch below(5) {
              case 0 where !rows.isEmpty:
                let first = below(rows.count)
                rows.removeSubrange(first..<min(rows.count, first + 1 + below(9)))
              case 1 where !rows.isEmpty: rows.insert(rows.remove(at: below(rows.count)), at: below(rows.count + 1))
              case 2 where below(5) == 0: rows.shuffle(using: &random)
              default:
                guard let row = (0..<60).filter({ !rows.contains($0) }).randomElement(using: &random) else { break }
                rows.insert(row, at: below(rows.count + 1))
              }
            }
          }
          let new = list.rows
          log.append("\(new)")
          for (id, range) in visible {
            let first = old[range].first(where: new.contains).flatMap(new.firstIndex(of:)) ?? range.lowerBound
            let start = max(0, min(first, new.count - range.count))
            visible[id] = start..<min(new.count, start + range.count)
          }
          harness.managers.libraryDidChange()
          // The client may report another position before it knows of the change.
          if below(3) == 0 { try move(ids[below(2)]) }
        case 5:
          let index = below(60)
          log.append("\(index) is started")
          if try harness.start([index])?.started == 1 { started.insert(index) }
        default:
          let index = below(60)
          if let asset = gone.removeValue(forKey: index) {
            log.append("\(index) comes back")
            harness.library.restore(index, from: asset)
          } else if below(3) == 0 {
            log.append("\(index) is another")
            harness.library.edit(index)
          } else {
            log.append("\(index) goes")
            gone[index] = harness.library[index]
            harness.library.delete(index)
            started.remove(index)
          }
          harness.managers.libraryDidChange()
        }
        // Long enough for every movement to have settled.
        harness.advance(by: .seconds(1))
        try await harness.untilQuiet()
        let rows = list.rows
        /// The positions of the windows with a number of margins, and the started entries.
        func around(_ margins: [String: Int], times: Int) -> Set<Int> {
          visible.reduce(into: started) { wanted, window in
            let margin = times * (margins[window.key] ?? 0)
            let range = window.value.lowerBound - margin..<window.value.upperBound + margin
            wanted.formUnion(rows[range.clamped(to: 0..<rows.count)])
          }.subtracting(gone.keys)
        }
        // Frames beyond the current margin may be kept only if they were prepared on the way.
        let isRight =
          harness.pinned().isSuperset(of: around(margins, times: 1))
          && harness.pinned().isSubset(of: around(margins, times: 2))
        #expect(isRight, "\(harness.pinned().sorted()): \(log.joined(separator: "; "))")
        let pins = harness.managers.all(of: CachingHarness.owner).reduce(0) { $0 + $1.ready }
        #expect(harness.images.cache.pinCount == pins, "\(log.joined(separator: "; "))")
        if !isRight { return }
      }
      for id in ids { _ = harness.managers.end(id, for: CachingHarness.owner) }
      #expect(harness.images.cache.pinCount == 0 && harness.images.cache.pinnedByteCount == 0)
    }
  }

  @Test("after a thousand random sequences no pin is left")
  func leaks() async throws {
    var random = Sampling.generator("caching sequences")
    let harness = CachingHarness(80, CachingLimits()) {
      $0.cacheBytes = 64 << 10
      $0.workers = 2
    }
    let originals = (0..<80).map { harness.library[$0] }
    for _ in 0..<1000 {
      for _ in 0..<8 {
        let first = Int.random(in: 0..<70, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
          _ = try harness.move(
            first..<first + 8, margin: Int.random(in: 0...6, using: &random),
            CachingHarness.options(Bool.random(using: &random) ? 12 : 9))
        case 4: _ = try harness.start(first..<first + 5)
        case 5: _ = try harness.stop(first..<first + 9)
        case 6: harness.library.edit(first)
        case 7:
          if harness.library[first] == nil, let asset = originals[first] {
            harness.library.restore(first, from: asset)
          } else {
            harness.library.delete(first)
          }
          harness.managers.libraryDidChange()
        case 8: harness.advance(by: .milliseconds(Int.random(in: 1...400, using: &random)))
        default: _ = await harness.ask(first)
        }
      }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: _ = harness.managers.end("default", for: CachingHarness.owner)
      case 1: _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
      default:
        harness.advance(by: .seconds(301))
        harness.managers.tick()
        harness.managers.sync()
      }
      let (pins, bytes) = (harness.images.cache.pinCount, harness.images.cache.pinnedByteCount)
      #expect(pins == 0 && bytes == 0, "\(Sampling.note)")
      if pins + bytes != 0 { return }
    }
    try await harness.untilQuiet()
    try await harness.images.untilIdle()
    #expect(harness.images.cache.pinCount == 0 && harness.images.budget.bytesInUse == 0)
  }
}
