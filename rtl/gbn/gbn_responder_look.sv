// First half of a responder's step: the facts that follow from event and context without the receive buffer.
//
// Purely combinational.
module gbn_responder_look
  import roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter int unsigned Recvs = 16,
    parameter int unsigned Reads = 16
) (
    input responder_context_t        context_i,
    input logic               [ 4:0] operation_i,
    input psn_t                      psn_i,
    input logic               [15:0] payload_bytes_i,
    input logic                      access_i,
    input logic               [63:0] va_i,
    input logic               [31:0] rkey_i,
    input logic               [31:0] dma_len_i,

    output responder_facts_t facts_o
);

  operation_e operation;
  logic first, middle, last, only;
  logic send, has_imm, read, atomic, unserved, request;  // read: or atomic; unserved: reserved operations
  logic behind, at_first, start_over;
  logic bad_order, bad_payload, bad_length;
  logic [15:0] mtu;
  logic [31:0] offset, length, dma_len;  // length: of this packet's RETH or AtomicETH
  logic [32:0] bytes;

  assign operation = operation_e'(operation_i);
  assign first = operation inside {OpSendFirst, OpWriteFirst};
  assign middle = operation inside {OpSendMiddle, OpWriteMiddle};
  assign last = operation inside {OpSendLast, OpSendLastImm, OpSendLastInv, OpWriteLast, OpWriteLastImm};
  assign only = operation inside {OpSendOnly, OpSendOnlyImm, OpSendOnlyInv, OpWriteOnly, OpWriteOnlyImm};
  assign request = !(operation inside {OpReadRespFirst, OpReadRespMid, OpReadRespLast, OpReadRespOnly, OpAck, OpAtomicAck});
  assign atomic = operation inside {OpCmpSwap, OpFetchAdd};
  assign read = operation == OpReadRequest || atomic;
  assign unserved = request && !(first || middle || last || only || read);
  assign send       = !(operation inside {OpWriteFirst, OpWriteMiddle, OpWriteLast, OpWriteLastImm, OpWriteOnly, OpWriteOnlyImm});
  assign has_imm    = operation inside {OpSendLastImm, OpSendLastInv, OpSendOnlyImm, OpSendOnlyInv, OpWriteLastImm, OpWriteOnlyImm};

  assign behind = psn_behind(psn_i, context_i.expected_psn);
  assign at_first = context_i.configuration.restart && context_i.under_way && psn_i == context_i.first_psn && !read;
  assign start_over = behind && at_first;

  // A Middle or Last continues the message that is under way, unless the message starts over; a First or Only starts
  // one, and a READ comes between two.
  assign bad_order = unserved ||
      ((context_i.under_way && !start_over) ? !(middle || last) || send == context_i.writing : !(first || only || read));

  assign mtu = 16'd1 << mtu_bits(context_i.configuration.mtu);

  always_comb begin
    if (read) bad_payload = payload_bytes_i != '0;
    else if (first || middle) bad_payload = payload_bytes_i != mtu;
    else bad_payload = payload_bytes_i > mtu || (last && payload_bytes_i == '0);
  end

  assign offset  = (first || only) ? '0 : context_i.offset;
  assign length  = atomic ? 32'(AtomicBytes) : dma_len_i;
  assign dma_len = (first || only || read) ? length : context_i.dma_len;
  assign bytes   = 33'(offset) + 33'(payload_bytes_i);

  always_comb begin
    if (atomic) bad_length = va_i[2:0] != '0;  // its eight bytes are aligned
    else bad_length = !send && ((last || only) ? bytes != 33'(dma_len) : bytes >= 33'(dma_len));
  end

  // READs: whether one may be accepted, and which is answered next: the oldest of those that are asked again, else the
  // oldest that was never answered to its end.
  localparam int unsigned ReadBits = $clog2(Reads);

  reads_t reads;
  logic [24:0] responses;
  logic bad_read;
  logic [2*Reads-1:0] in_order;  // slots that are asked again, the oldest first
  logic [ReadBits-1:0] oldest, slot;

  assign reads    = context_i.reads;
  assign bad_read = read && (reads.head - reads.done == read_t'(Reads) || 32'(responses) > MessagePacketsMax);
  assign slot     = reads.again != '0 ? reads.head[ReadBits-1:0] + oldest : reads.done[ReadBits-1:0];

  always_comb begin
    responses = '0;
    if (read) responses = read_responses(length, context_i.configuration.mtu);
  end

  always_comb begin
    in_order = '0;
    oldest   = '0;
    if (reads.again != '0) begin
      in_order = {2{reads.again[Reads-1:0]}} >> reads.head[ReadBits-1:0];
      for (int i = int'(Reads) - 1; i >= 0; i--) if (in_order[i]) oldest = ReadBits'(i);
    end
  end

  always_comb begin
    facts_o = '0;
    facts_o.empty = context_i.tail == context_i.head;
    facts_o.full = context_i.head - context_i.tail == ring_t'(Recvs);
    facts_o.request = request;
    facts_o.gap = psn_ahead(psn_i, context_i.expected_psn);
    facts_o.duplicate = behind && !at_first;
    facts_o.start_over = start_over;
    facts_o.invalid      = bad_order || bad_payload || bad_read || (((!send && (first || only)) || read) && length > MessageBytesMax);
    facts_o.access = ((!send && (first || only)) || read) && length != '0 && !access_i;
    facts_o.length_bad = bad_length;
    facts_o.needs_buffer = send ? (first || only) : ((last || only) && has_imm);
    facts_o.starts = first || only;
    facts_o.ends = last || only;
    facts_o.send = send;
    facts_o.has_imm = has_imm;
    facts_o.completes = (last || only) && (send || has_imm);
    facts_o.offset = offset;
    facts_o.bytes = bytes;
    facts_o.va = (first || only || read) ? va_i : context_i.va;
    facts_o.rkey = (first || only || read) ? rkey_i : context_i.rkey;
    facts_o.dma_len = dma_len;
    facts_o.read = read;
    facts_o.asked = operation == OpCmpSwap ? AskedCompareSwap : operation == OpFetchAdd ? AskedFetchAdd : AskedRead;
    facts_o.responses = responses;
    facts_o.unanswered = reads_wait(reads);
    facts_o.answerable = reads_answerable(reads, context_i.state == QpError);
    facts_o.rereads = reads.again != '0;
    facts_o.slot = 4'(slot);
  end

endmodule
