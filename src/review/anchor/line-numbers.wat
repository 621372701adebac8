;; Numbers the lines of a text; `number-lines.ts` puts everything into the memory and takes it out again.
(module
  ;; For a line that is not all ASCII, from an offset to before another: puts the line there without what
  ;; is left out, and returns its length; or, if it still is not ASCII, puts its key and its number of
  ;; letters at $OTHER, and returns -1.
  (import "lines" "other" (func $other (param i32 i32) (result i32)))

  ;; It begins with what each byte counts as: 0 for space, 1 for a line end, 2 for a part of a character that
  ;; has several, and 512 and more for others, with 256 for letters and digits.
  (memory (export "memory") 4)
  (global $OTHER i32 (i32.const 0x200))
  ;; A random number: nobody can write lines whose keys are alike, or have their places in the table together.
  (global $SEED i32 (i32.const 0x210))

  ;; Of the line that was hashed last.
  (global $end (mut i32) (i32.const 0))
  (global $letters (mut i32) (i32.const 0))
  (global $isAscii (mut i32) (i32.const 0))

  ;; How many line ends there are between two offsets, the first of which is a multiple of 8. Behind the
  ;; second one, eight bytes are there and are no line ends.
  (func (export "countEnds") (param $at i32) (param $to i32) (result i32)
    (local $bytes i64) (local $count i32)
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $to))
        (then
          ;; The highest bit of each byte that is no line end, and no other bit.
          (local.set $bytes (i64.xor (i64.load (local.get $at)) (i64.const 0x0a0a0a0a0a0a0a0a)))
          (local.set $bytes
            (i64.or
              (local.get $bytes)
              (i64.add
                (i64.and (local.get $bytes) (i64.const 0x7f7f7f7f7f7f7f7f))
                (i64.const 0x7f7f7f7f7f7f7f7f))))
          (local.set $bytes (i64.and (local.get $bytes) (i64.const 0x8080808080808080)))
          (local.set $count
            (i32.sub
              (i32.add (local.get $count) (i32.const 8))
              (i32.wrap_i64 (i64.popcnt (local.get $bytes)))))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br $next))))
    (local.get $count))

  ;; The key of the line at an offset: a hash of its characters without space, with one kind of quotes.
  (func $keyOf (param $at i32) (param $to i32) (result i64)
    (local $kind i32) (local $key i64) (local $letters i32)
    (local.set $key (i64.load (global.get $SEED)))
    (global.set $isAscii (i32.const 1))
    (block $ended
      (loop $next
        (br_if $ended (i32.ge_u (local.get $at) (local.get $to)))
        (local.set $kind (i32.load16_u (i32.shl (i32.load8_u (local.get $at)) (i32.const 1))))
        (if (i32.lt_u (local.get $kind) (i32.const 512))
          (then
            (br_if $ended (i32.eq (local.get $kind) (i32.const 1)))
            (if (i32.eq (local.get $kind) (i32.const 2))
              (then (global.set $isAscii (i32.const 0)))))
          (else
            (local.set $letters
              (i32.add (local.get $letters) (i32.and (local.get $kind) (i32.const 256))))
            ;; Without the rotation, lower bits would never depend on higher ones, and two long lines of
            ;; two letters have the same key whatever the factor is (Thue-Morse sequences).
            (local.set $key
              (i64.mul
                (i64.add
                  (i64.rotl (local.get $key) (i64.const 23))
                  (i64.extend_i32_u (local.get $kind)))
                (i64.const 0x9e3779b97f4a7c15)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (global.set $end (local.get $at))
    (global.set $letters (i32.shr_u (local.get $letters) (i32.const 8)))
    (i64.mul
      (i64.xor (local.get $key) (i64.shr_u (local.get $key) (i64.const 32)))
      (i64.const 0xbf58476d1ce4e5b9)))

  ;; What is known of lines: how many there are, a key of 8 bytes and a byte with the letters of each, and
  ;; a hash table with the number of each, plus one.
  (global $count (mut i32) (i32.const 0))
  (global $keys (mut i32) (i32.const 0))
  (global $lettersOf (mut i32) (i32.const 0))
  (global $table (mut i32) (i32.const 0))
  (global $mask (mut i32) (i32.const 0))

  ;; Begins with lines whose keys and letters are there. The table is empty.
  (func (export "begin")
    (param $count i32) (param $keys i32) (param $letters i32) (param $table i32) (param $mask i32)
    (local $number i32) (local $slot i32)
    (global.set $count (local.get $count))
    (global.set $keys (local.get $keys))
    (global.set $lettersOf (local.get $letters))
    (global.set $table (local.get $table))
    (global.set $mask (local.get $mask))
    (loop $next
      (if (i32.lt_u (local.get $number) (local.get $count))
        (then
          (local.set $slot (call $slotOf (i64.load (call $keyAt (local.get $number)))))
          (local.set $number (i32.add (local.get $number) (i32.const 1)))
          (i32.store (local.get $slot) (local.get $number))
          (br $next)))))

  (func $keyAt (param $number i32) (result i32)
    (i32.add (global.get $keys) (i32.shl (local.get $number) (i32.const 3))))

  ;; Where in the table a key is, or has its place.
  (func $slotOf (param $key i64) (result i32)
    (local $mixed i64) (local $hash i32) (local $slot i32) (local $number i32)
    (local.set $mixed (i64.mul (local.get $key) (i64.load (global.get $SEED))))
    (local.set $mixed
      (i64.mul
        (i64.xor (local.get $mixed) (i64.shr_u (local.get $mixed) (i64.const 32)))
        (i64.const 0xbf58476d1ce4e5b9)))
    (local.set $hash (i32.wrap_i64 (i64.shr_u (local.get $mixed) (i64.const 32))))
    (loop $next
      (local.set $slot
        (i32.add
          (global.get $table)
          (i32.shl (i32.and (local.get $hash) (global.get $mask)) (i32.const 2))))
      (local.set $hash (i32.add (local.get $hash) (i32.const 1)))
      (local.set $number (i32.load (local.get $slot)))
      (br_if $next
        (i32.and
          (i32.ne (local.get $number) (i32.const 0))
          (i64.ne
            (local.get $key)
            (i64.load (call $keyAt (i32.sub (local.get $number) (i32.const 1))))))))
    (local.get $slot))

  ;; The number of the line at an offset, which is new if it is not known.
  (func $numberAt (param $at i32) (param $to i32) (result i32)
    (local $key i64) (local $slot i32) (local $number i32)
    (local.set $key (call $keyOf (local.get $at) (local.get $to)))
    (if (i32.eqz (global.get $isAscii))
      (then (local.set $key (call $otherKeyOf (local.get $at)))))
    (local.set $slot (call $slotOf (local.get $key)))
    (local.set $number (i32.load (local.get $slot)))
    (if (local.get $number) (then (return (i32.sub (local.get $number) (i32.const 1)))))
    (local.set $number (global.get $count))
    (i64.store (call $keyAt (local.get $number)) (local.get $key))
    (i32.store8
      (i32.add (global.get $lettersOf) (local.get $number))
      (select
        (global.get $letters)
        (i32.const 20)
        (i32.lt_u (global.get $letters) (i32.const 20))))
    (global.set $count (i32.add (local.get $number) (i32.const 1)))
    (i32.store (local.get $slot) (global.get $count))
    (local.get $number))

  ;; The key of the line that was hashed last, which begins at an offset and is not all ASCII.
  (func $otherKeyOf (param $at i32) (result i64)
    (local $end i32) (local $length i32) (local $key i64)
    (local.set $end (global.get $end))
    (local.set $length (call $other (local.get $at) (local.get $end)))
    (if (i32.lt_s (local.get $length) (i32.const 0))
      (then
        (global.set $letters (i32.load offset=8 (global.get $OTHER)))
        (return (i64.load (global.get $OTHER)))))
    (local.set $key (call $keyOf (local.get $at) (i32.add (local.get $at) (local.get $length))))
    (global.set $end (local.get $end))
    (local.get $key))

  ;; Numbers the lines of a text, notes where they start, and where each number is that occurs once: that
  ;; list is all -1 before. Returns how many lines are known then.
  (func (export "numberLines")
    (param $at i32) (param $to i32) (param $starts i32) (param $numbers i32) (param $once i32)
    (result i32)
    (local $text i32) (local $line i32) (local $number i32) (local $index i32)
    (local.set $text (local.get $at))
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $to))
        (then
          (i32.store (local.get $starts) (i32.sub (local.get $at) (local.get $text)))
          (local.set $number (call $numberAt (local.get $at) (local.get $to)))
          (i32.store (local.get $numbers) (local.get $number))
          (local.set $index (i32.add (local.get $once) (i32.shl (local.get $number) (i32.const 2))))
          (i32.store
            (local.get $index)
            (select
              (local.get $line)
              (i32.const -2)
              (i32.eq (i32.load (local.get $index)) (i32.const -1))))
          (local.set $at (i32.add (global.get $end) (i32.const 1)))
          (local.set $line (i32.add (local.get $line) (i32.const 1)))
          (local.set $starts (i32.add (local.get $starts) (i32.const 4)))
          (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
          (br $next))))
    (global.get $count)))
