// Tokens of changes are numbers that count commits. Clients get them as text that tells nothing: neither how many changes
// there were between two, nor, where they may not see a change, that there was one.

import Crypto
import Foundation
import GRDB
import Synchronization

/// A state of the library: that after a change, and before the next.
package struct ChangeToken: Sendable, Hashable, Comparable {
  /// Counts commits that changed the library.
  package let number: Int64

  package init(_ number: Int64) { self.number = number }

  package static func < (lhs: ChangeToken, rhs: ChangeToken) -> Bool { lhs.number < rhs.number }
}

/// Tokens as text and back: a permutation of 64 bits by the catalogue's own key, in base64url. A balanced Feistel network
/// of four rounds over HMAC-SHA256, which is a strong pseudorandom permutation (Luby and Rackoff 1988).
package final class ChangeTokenText: Sendable {
  private static let rounds: ClosedRange<UInt8> = 1...4
  /// Texts that are kept: a page of assets has few revisions, and they are the same from page to page.
  private static let keptTexts = 4096
  /// Sets these texts apart from everything else that is made with the key.
  private static let purpose = Data("photod change token".utf8)

  private struct State {
    var key: HMAC<SHA256>?
    /// By the lowest bits of the number.
    var texts: [(number: Int64, text: String)] = []
  }

  private let state = Mutex(State())

  init() {}

  /// To be called once the catalogue is open, before anything is asked of it.
  func use(key: Data) {
    var mac = HMAC<SHA256>(key: SymmetricKey(data: key))
    mac.update(data: Self.purpose)
    state.withLock { $0 = State(key: mac) }
  }

  /// Eleven letters.
  package func text(of token: ChangeToken) -> String {
    state.withLock { state in
      if state.texts.isEmpty { state.texts = Array(repeating: (.min, ""), count: Self.keptTexts) }
      let place = Int(truncatingIfNeeded: token.number) & (Self.keptTexts - 1)
      if state.texts[place].number == token.number { return state.texts[place].text }
      let block = Self.permuted(UInt64(bitPattern: token.number), state.key, Self.rounds.map { $0 })
      let text = withUnsafeBytes(of: block.bigEndian) { Base64URL.encode($0) }
      state.texts[place] = (token.number, text)
      return text
    }
  }

  /// `nil`: it is the text of no token that this catalogue could have given out.
  package func token(of text: String) -> ChangeToken? {
    guard text.utf8.count == 11, let bytes = Base64URL.decode(text), bytes.count == 8 else { return nil }
    let block = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let key = state.withLock { $0.key }
    // Halves exchanged, the network runs backwards.
    let number = Self.swapped(Self.permuted(Self.swapped(block), key, Self.rounds.reversed()))
    return number <= UInt64(Int64.max) ? ChangeToken(Int64(number)) : nil
  }

  private static func swapped(_ block: UInt64) -> UInt64 { block << 32 | block >> 32 }

  private static func permuted(_ block: UInt64, _ key: HMAC<SHA256>?, _ rounds: [UInt8]) -> UInt64 {
    guard let key else { preconditionFailure("a token before the catalogue was open") }
    var left = UInt32(truncatingIfNeeded: block >> 32)
    var right = UInt32(truncatingIfNeeded: block)
    for round in rounds {
      var mac = key
      mac.update(data: [round])
      withUnsafeBytes(of: right.bigEndian) { mac.update(data: $0) }
      let mask = mac.finalize().prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      (left, right) = (right, left ^ mask)
    }
    return UInt64(left) << 32 | UInt64(right)
  }

  /// `changeToken(number)` in SQL; NULL of NULL.
  var function: DatabaseFunction {
    DatabaseFunction("changeToken", argumentCount: 1, pure: true) { [self] arguments in
      Int64.fromDatabaseValue(arguments[0]).map { text(of: ChangeToken($0)) }
    }
  }
}
