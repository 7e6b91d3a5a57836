import Synchronization
import Telemetry
import Testing

@Suite("Liveness")
struct LivenessTests {
  /// A part that answers when the test says so.
  private final class Gate: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    func ask(_ answered: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(answered) } }

    var questions: Int { waiting.withLock { $0.count } }

    /// Answers all questions so far.
    func answer() {
      for answered in waiting.withLock({ waiting in
        defer { waiting = [] }
        return waiting
      }) { answered() }
    }
  }

  @Test("a process is alive as long as every part answers each round")
  func alive() {
    let (first, second) = (Gate(), Gate())
    let liveness = Liveness([Liveness.Part("first") { first.ask($0) }, Liveness.Part("second") { second.ask($0) }])
    for _ in 0..<3 {
      #expect(liveness.check() == [])
      first.answer()
      second.answer()
    }
  }

  @Test("a part that does not answer is named in each check, is not asked again, and may recover")
  func hanging() {
    let (first, second) = (Gate(), Gate())
    let liveness = Liveness([Liveness.Part("first") { first.ask($0) }, Liveness.Part("second") { second.ask($0) }])
    #expect(liveness.check() == [])
    first.answer()
    for _ in 0..<3 {
      #expect(liveness.check() == ["second"])
      #expect(first.questions == 0 && second.questions == 1)
    }
    second.answer()
    #expect(liveness.check() == [])
  }

  @Test("a part that answers twice does not stand for another round")
  func repeated() {
    let kept = Mutex<[@Sendable () -> Void]>([])
    let liveness = Liveness([Liveness.Part("only") { answered in kept.withLock { $0.append(answered) } }])
    func answer(_ index: Int) { kept.withLock { $0[index] }() }
    #expect(liveness.check() == [])
    answer(0)
    #expect(liveness.check() == [])
    answer(0)
    #expect(liveness.check() == ["only"])
    answer(1)
    #expect(liveness.check() == [])
  }
}
