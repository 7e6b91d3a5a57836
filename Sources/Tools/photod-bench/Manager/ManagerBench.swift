// The image manager through HTTP, from a client's first byte to a frame's last: what there is at once, what follows, what it
// costs, and how it holds up when a whole wall of photographs is asked for.

import ArgumentParser
import Foundation

struct ManagerBench: ParsableCommand {
  enum Part: String, CaseIterable, ExpressibleByArgument {
    case delivery, degraded, gallery
  }

  static let configuration = CommandConfiguration(
    commandName: "manager",
    abstract: "Degraded and final frames by what is stored, degraded frames under load, and a gallery's load.")

  @OptionGroup var options: PictureOptions

  @Option(
    help: ArgumentHelp(
      "What is measured: delivery, degraded, gallery; may be given several times. Else all.", valueName: "part"))
  var part: [Part] = []

  @Option(name: .customLong("case"), help: "Deliveries: photographs whose name has this in it.")
  var cases = ["12mp-420", "12mp-prog", "12mp-o6", "36mp"]

  @Option(help: "Deliveries: renders from the original, of each photograph and size.")
  var coldRounds = 41

  @Option(help: "Deliveries: requests in every other state.")
  var rounds = 101

  @Option(help: "Degraded frames: how many of each kind.")
  var frames = 501

  @Option(help: "Gallery: connections, kept alive.")
  var connections = 64

  @Option(help: "Gallery: seconds of a turn.")
  var seconds = 10.0

  @Option(help: "Gallery: turns of each contestant.")
  var turns = 3

  @Option(help: "Gallery: thumbor's binary, in an environment of its own.")
  var thumbor: String?

  func run() throws {
    let parts = part.isEmpty ? Part.allCases : part
    try options.withWorkFolder { workspace in
      let vips = try workspace.vipsServer()
      try workspace.printTitle("The image manager through HTTP", vips: vips)
      if parts.contains(.delivery) {
        try DeliveryStates(workspace: workspace, vips: vips, coldRounds: coldRounds, rounds: rounds).print(cases)
      }
      if parts.contains(.degraded) {
        try DegradedFrames(workspace: workspace, frames: frames).print()
      }
      if parts.contains(.gallery) {
        try GalleryComparison(workspace: workspace, connections: connections, seconds: seconds, turns: turns)
          .print(thumbor: thumbor)
      }
    }
  }
}
