import HTTPCore
import ImageService

extension ImagePriority {
  /// How much a request presses by its own word: the urgency of its `Priority` field (RFC 9218 §4.1), 3 where it says none.
  /// Browsers say more of pictures that are in view than of those that are not.
  init(_ head: RequestHead) {
    self = .normal
    guard let field = head.value(of: .priority) else { return }
    for member in Text.elements(of: field) where member.hasPrefix("u=") {
      guard let urgency = Int(member.dropFirst(2)), (0...7).contains(urgency) else { continue }
      self = urgency < 3 ? .high : urgency == 3 ? .normal : .low
    }
  }
}
