/// The responses to one kind of request, and their cost for the server.
struct DeliverySamples {
  let answers: [BenchResponse]
  let cpuMilliseconds: Double?

  /// The table cells: the kinds of frames and their times in milliseconds: degraded p50 and p99, final p50 and p99,
  /// CPU.
  var cells: [String] {
    let degraded = answers.compactMap { $0.degraded.map { $0.seconds * 1000 } }
    let final = answers.compactMap { $0.final.map { $0.seconds * 1000 } }
    let times = [degraded.percentile(50), degraded.percentile(99), final.percentile(50), final.percentile(99)]
    return [sources] + times.map { $0.text() } + [cpuMilliseconds.text()]
  }

  /// `embedded, original`, and the percentage of responses with these frames unless it is 100.
  private var sources: String {
    var counts: [String: Int] = [:]
    for answer in answers { counts[answer.frames.map(\.source).joined(separator: ", "), default: 0] += 1 }
    return counts.sorted { $0.value > $1.value }.prefix(3).map { sources, count in
      count == answers.count ? sources : "\(sources) (\(count * 100 / answers.count)%)"
    }.joined(separator: "; ")
  }
}
