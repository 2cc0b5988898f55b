"""The mutations: one wrong line each. Those of the synchronisation and of the cutting of work are found in the text of
every variant; those of the vocabulary and of the runtime are listed, with the variants that must notice them."""
import dataclasses
import re


@dataclasses.dataclass
class Mutation:
    file: str  # below kernels/
    old: str
    new: str
    at: int  # which occurrence of `old`
    probes: list  # variants, tried in turn until one notices
    rebuild: list = dataclasses.field(default_factory=list)  # further sources that see the mutated header
    note: str = ""

    @property
    def name(self):
        old, new = " ".join(self.old.split()), " ".join(self.new.split())
        return f"{self.file}#{self.at + 1}: {old} -> {new or 'nothing'}"

    def apply(self, text):
        place = -1
        for _ in range(self.at + 1):
            place = text.find(self.old, place + 1)
            if place < 0:
                raise LookupError(f"{self.file} has no {self.at + 1}. '{self.old}': bring tests/mutation up to date")
        return text[:place] + self.new + text[place + len(self.old):]


STATEMENT = re.compile(r"(?:block\.)?(barrier|wait|notify|handshake|signal|await)\(([^;{]*)\);")
LOOP_END = re.compile(r"< team\.ranks\b(?! - 1)")

# Left out, because nothing can show them: the fence behind stores that went past the cache (drain_streaming_stores; x86
# alone has it, ThreadSanitizer does not see such stores), and yields, pauses and hints to the memory system.


def of_variant(name, text):
    """Every barrier, wait, notify and half of a handshake dropped; every share taken whole; every loop over ranks one
    short."""
    file = f"variants/{name}.h"
    body = text.index("static void run(")

    def add(old, new, place):
        found.append(Mutation(file, old, new, text[:place].count(old), [name]))

    found = []
    for match in STATEMENT.finditer(text, body):
        word, arguments = match.groups()
        add(match.group(0), ";", match.start())
        if word == "handshake":
            to, source = arguments.split(", ")
            add(match.group(0), f"block.notify({to});", match.start())
            add(match.group(0), f"block.wait({source});", match.start())
    for match in re.finditer(r"block\.share_of\(", text[body:]):
        add(match.group(0), "Span(", body + match.start())
    for match in LOOP_END.finditer(text, body):
        add(match.group(0), "< team.ranks - 1", match.start())
    return found


BLOCK, MEMORY, TEAM = "device/host_block.h", "device/host.h", "device/team.h"
WAIT = ["runtime/host_wait.cpp"]  # compares epochs, too: a healthy copy of it would hide a sick one in the kernels
SIGNAL, PARTITION, RUNTIME = "device/signal.h", "core/partition.h", "runtime/host_team.cpp"
RELEASE, ACQUIRE, RELAXED = "std::memory_order_release", "std::memory_order_acquire", "std::memory_order_relaxed"


def one(file, old, new, *probes, rebuild=()):
    return Mutation(file, old, new, 0, list(probes), list(rebuild))


def of_flags():
    """Order of memory, epochs, launch records, the barrier."""
    sent, seen = "line.epoch.store(++counters_.sent[to], ", "arrived = reached(line.epoch.load("
    record = "record.{}.store(launch_.{}, std::memory_order_relaxed);"
    refuse = "if (theirs != short_digest()) refuse_mismatch(launch_, peer);"
    digest = "line.digest[launch_.number & 1U].store(short_digest(), std::memory_order_relaxed);"
    return [
        one(BLOCK, sent + RELEASE, sent + RELAXED, "two_shot"),
        one(BLOCK, seen + ACQUIRE, seen + RELAXED, "two_shot"),
        one("runtime/host_wait.cpp", "flag.load(" + ACQUIRE, "flag.load(" + RELAXED, "ring", "two_shot"),
        one(SIGNAL, "static_cast<std::int32_t>(seen - expected) >= 0", "seen >= expected", "mesh", rebuild=WAIT),
        one(SIGNAL, "(seen - expected) >= 0", "(seen - expected) > 0", "mesh", rebuild=WAIT),
        one(SIGNAL, "(seen - expected) >= 0", "(seen - expected) >= -1", "two_shot", rebuild=WAIT),
        one(BLOCK, record.format("in", "in.word"), "", "mesh"),
        one(BLOCK, record.format("out", "out.word"), "", "two_shot_write"),
        one(BLOCK, digest, "", "mesh"),
        one(BLOCK, refuse, "", "mesh"),
        one(BLOCK, "if (at_.in[from] == nullptr) meet(peer, line);", "", "mesh"),
        one(BLOCK, "raise(peer); });", "});", "mesh"),
        one(BLOCK, "wait(peer); });", "});", "mesh"),
    ]


def of_packs():
    """The loop over packs and its tail, who is walked over, the cutting."""
    store = "std::memcpy(data + i.first, &pack.part, static_cast<std::size_t>(i.lanes{}) * sizeof(T))"
    load = "std::memcpy(lane, data + i.first, static_cast<std::size_t>(i.lanes{}) * sizeof(T))"
    tail = "static_cast<int>(span.end() - first){}}}"
    return [
        one(BLOCK, "if (first < span.end()) f(Tail<Isa, T>", "if (false) f(Tail<Isa, T>", "mesh"),
        one(BLOCK, tail.format(""), tail.format(" - 1"), "mesh"),
        one(BLOCK, "span.end() - first >= lanes", "span.end() - first > lanes - 2", "mesh"),
        one(BLOCK, "span.end() - first >= lanes", "span.end() - first >= 2 * lanes", "mesh"),
        one(MEMORY, store.format(""), store.format(" + 1"), "mesh"),
        one(MEMORY, load.format(""), load.format(" - 1"), "mesh"),
        one(TEAM, "distance <= team.ranks", "distance < team.ranks", "two_shot"),
        one(TEAM, "distance < team.ranks", "distance + 1 < team.ranks", "mesh"),
        one(TEAM, "if (to < 0) to += self.ranks;", "if (to < 0) to = 0;", "ring"),
        one("device/views.h", "= 1; rank < team.ranks", "= 1; rank < team.ranks - 1", "mesh"),
        one(PARTITION, "(which < extra ? 1 : 0)", "0", "two_shot"),
        one(PARTITION, "(which < extra ? which : extra)", "extra", "two_shot"),
        one(PARTITION, "(span.count + lanes - 1) / lanes", "span.count / lanes", "two_shot"),
        one(PARTITION, "over_ = end_ - at_ <= chunk_", "over_ = true", "ring"),
        one(PARTITION, "end_ - at_ < chunk_ ? end_ - at_ : chunk_", "chunk_", "ring"),
    ]


def of_mail():
    """Mailboxes of in-band variants."""
    sent, seen = "line.call.store(launch_.mail_call, ", "arrived = line.call.load("
    return [
        one(BLOCK, sent + RELEASE, sent + RELAXED, "push"),
        one(BLOCK, seen + ACQUIRE, seen + RELAXED, "push"),
        one(BLOCK, "line.digest = launch_.digest;", "", "push"),
        one(BLOCK, "if (line.digest != launch_.digest) refuse_mismatch(launch_, peer);", "", "push"),
        one(BLOCK, "if (!arrived) wait_for_mail(launch_, line.call, index_, peer);", "", "push"),
        one(BLOCK, "bytes_of({0, buffers.count}) <= MailLine::capacity", "true", "push"),
        one(SIGNAL, "mail_generations = 2", "mail_generations = 1", "push", rebuild=[RUNTIME, *WAIT]),
        one(RUNTIME, "launch.mail_call = ++mail_calls_;", "launch.mail_call = mail_calls_;", "push"),
    ]


def of_two_levels():
    """Who is near, whose memory a domain reads and writes, and partial sums. Flags are found in the variant's text."""
    file = "variants/two_level.h"
    to_chain = "rank < last && team.rank == last;"
    wide = "std::memcpy(lane, data + i.first, static_cast<std::size_t>(i.lanes{}) * sizeof lane[0])"
    return [
        one(TEAM, "place >= team.near", "place > team.near", "two_level"),
        one(file, to_chain, to_chain.replace("< last", "+ near.ranks < last"), "two_level"),
        one(file, "if (follows) sum = op(before.load(i), sum);", "", "two_level"),
        one(file, "follows ? team.rank - near.ranks : team.rank", "team.rank", "two_level"),
        one(file, "place < near.ranks;", "place < near.ranks - 1;", "two_level"),
        one(file, "step < near.ranks;", "step < near.ranks - 1;", "two_level"),
        one(file, "buffers.in(first + place)", "buffers.in(place)", "two_level"),
        one(file, "buffers.out(first + place)", "buffers.out(place)", "two_level"),
        one(file, "buffers.out(team.rank - near.rank + place)", "buffers.out(place)", "two_level"),
        one(file, "near.rank, near.ranks)), buffers", "team.rank, team.ranks)), buffers", "two_level"),
        one(MEMORY, wide.format(""), wide.format(" - 1"), "two_level"),
    ]


def of_runtime():
    """Staging, pieces, digests, first epochs, worker threads."""
    done, ticket = "worker.done.store(served + 1, ", "workers_[h]->ticket.fetch_add(1, "
    piece = "static_cast<std::byte*>(call.out) + piece.first * width"
    return [
        one(RUNTIME, "std::memcpy(call.launch.local_in, call.input, call.bytes);", ";", "mesh"),
        one(RUNTIME, "std::memcpy(call.output, call.launch.local_out, call.bytes);", ";", "two_shot_write"),
        one(RUNTIME, "(in == out && traits.in_place == InPlace::unsafe)", "false", "mesh"),
        one(RUNTIME, piece, "static_cast<std::byte*>(call.out)", "mesh"),
        one(RUNTIME, ".add(static_cast<std::uint64_t>(call.count))", "", "mesh"),
        one(RUNTIME, "block.expected.fill(options_.first_epoch);", "block.expected.fill(0);", "mesh"),
        one("runtime/workers.cpp", done + RELEASE, done + RELAXED, "mesh"),
        one("runtime/workers.cpp", ticket + RELEASE, ticket + RELAXED, "mesh"),
    ]


def listed():
    return of_flags() + of_packs() + of_mail() + of_two_levels() + of_runtime()
