// The image manager over HTTP, measured from the client's first byte to the last byte of a frame: the first frame, the
// frames that follow, their cost, and the behaviour under the load of a gallery.

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
      "Parts to measure: delivery, degraded, gallery. Repeatable. Default: all.", valueName: "part"))
  var part: [Part] = []

  @Option(name: .customLong("case"), help: "Deliveries: photographs whose names contain this. Repeatable.")
  var cases = ["12mp-420", "12mp-prog", "12mp-o6", "36mp"]

  @Option(help: "Deliveries: renders from the original, of each photograph and size.")
  var coldRounds = 41

  @Option(help: "Deliveries: requests in each of the other states.")
  var rounds = 101

  @Option(help: "Degraded frames: number of each kind.")
  var frames = 501

  @Option(help: "Gallery: kept-alive connections.")
  var connections = 64

  @Option(help: "Gallery: seconds per turn.")
  var seconds = 10.0

  @Option(help: "Gallery: turns of each contestant.")
  var turns = 3

  @Option(help: "Gallery: thumbor's binary, in its virtual environment.")
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
