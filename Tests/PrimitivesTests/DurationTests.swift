import Primitives
import Testing

@Suite("Durations in units")
struct DurationTests {
  @Test("a duration is converted to each unit, and has no negative unsigned nanoseconds")
  func units() {
    let duration = Duration.milliseconds(1500)
    #expect(duration.seconds == 1.5 && duration.microseconds == 1_500_000)
    #expect(duration.wholeNanoseconds == 1_500_000_000 && duration.unsignedNanoseconds == 1_500_000_000)
    #expect((Duration.zero - duration).wholeNanoseconds == -1_500_000_000)
    #expect((Duration.zero - duration).unsignedNanoseconds == 0)
  }
}
