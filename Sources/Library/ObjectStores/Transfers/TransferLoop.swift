// All transfers with remote stores, by libcurl's multi interface on one serial queue.
//
// The queue has one block for as long as there are transfers. It runs the calls of the inbox, lets libcurl send and
// receive, and waits in `curl_multi_poll`, which `curl_multi_wakeup` ends when a call arrives. Without transfers the
// block returns, and no thread is used. HTTP/1.1 only: back-pressure of a read is then the back-pressure of its own
// connection.

import CPhotodCurl
import Dispatch
import Synchronization

/// Identifies a transfer of a loop.
struct TransferID: Sendable, Hashable {
  fileprivate let number: UInt64
}

/// `@unchecked Sendable` because libcurl's handle and the running transfers are used only on `queue`, which the methods
/// assert; the only exception is `curl_multi_wakeup`, which any thread may call.
package final class TransferLoop: @unchecked Sendable {
  private struct Inbox {
    var calls: [@Sendable () -> Void] = []
    /// Whether the queue has a block that will run the calls.
    var isRunning = false
  }

  private let queue = DispatchQueue(label: "photod.transfer", qos: .userInitiated)
  private let limits: TransferLimits
  private let rules: TransferRules
  private let inbox = Mutex(Inbox())
  private let multi: UnsafeMutableRawPointer

  // Guarded by `queue`.
  private var transfers: [TransferID: Transfer] = [:]
  private var lastNumber: UInt64 = 0

  package init(limits: TransferLimits = TransferLimits(), rules: TransferRules) {
    self.limits = limits
    self.rules = rules
    // More calls than one do no harm, and since libcurl 7.84 they may come from several threads.
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard let multi = curl_multi_init() else { preconditionFailure("libcurl is out of memory") }
    self.multi = UnsafeMutableRawPointer(multi)
    photod_curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.connections)
    photod_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limits.connections)
    photod_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
  }

  // The block on the queue holds the loop while there are transfers, so none is left here.
  deinit { curl_multi_cleanup(multi) }

  /// Calls a function on the loop's queue, soon and in order, and never before this method has returned.
  func call(_ body: @escaping @Sendable () -> Void) {
    let begins = inbox.withLock { inbox in
      inbox.calls.append(body)
      defer { inbox.isRunning = true }
      return !inbox.isRunning
    }
    if begins { queue.async { [self] in run() } } else { curl_multi_wakeup(multi) }
  }

  // MARK: On the queue

  func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  /// Starts a transfer. A handler must not call this during its transfer, except in `transferEnded`.
  func start(_ request: TransferRequest, _ handler: any TransferHandler) throws(ObjectStoreError) -> TransferID {
    assertOnQueue()
    guard rules.allowedHosts.contains(request.address.host) else { throw .hostNotAllowed }
    lastNumber += 1
    let id = TransferID(number: lastNumber)
    guard transfers.count < limits.transfers,
      let transfer = Transfer(id, request, handler, limits: limits, rules: rules)
    else { throw .limitExceeded(.pendingOperations) }
    transfers[id] = transfer
    curl_multi_add_handle(multi, transfer.easy)
    return id
  }

  /// Ends a transfer with `.cancelled`, if it has not ended.
  func cancel(_ id: TransferID) {
    assertOnQueue()
    end(id, .cancelled)
  }

  /// Continues a transfer whose handler returned `.pause`. May call the handler before it returns.
  func resume(_ id: TransferID) {
    assertOnQueue()
    if let transfer = transfers[id] { curl_easy_pause(transfer.easy, CURLPAUSE_CONT) }
  }

  private func run() {
    assertOnQueue()
    while true {
      let calls = inbox.withLock { inbox in
        defer { inbox.calls.removeAll() }
        if inbox.calls.isEmpty && transfers.isEmpty { inbox.isRunning = false }
        return inbox.calls
      }
      if calls.isEmpty && transfers.isEmpty { return }
      for call in calls { call() }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      endCompleteTransfers()
      if !transfers.isEmpty { curl_multi_poll(multi, nil, 0, 1000, nil) }
    }
  }

  private func endCompleteTransfers() {
    var waiting: Int32 = 0
    while let message = curl_multi_info_read(multi, &waiting) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let transfer = Transfer.of(UnsafeMutableRawPointer(easy))
      else { continue }
      end(transfer.id, transfer.failure(for: message.pointee.data.result))
    }
  }

  private func end(_ id: TransferID, _ failure: ObjectStoreError?) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    curl_multi_remove_handle(multi, transfer.easy)
    transfer.handler.transferEnded(failure)
  }
}
