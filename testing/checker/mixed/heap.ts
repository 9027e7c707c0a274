/** The points that may come next, the most urgent first. */
export class Heap {
  readonly #urgency: (point: number) => number;
  readonly #points: number[] = [];

  constructor(urgency: (point: number) => number) {
    this.#urgency = urgency;
  }

  push(point: number): void {
    const points = this.#points;
    let place = points.push(point) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  pop(): number | undefined {
    const points = this.#points;
    const [first] = points;
    const last = points.pop();
    if (first === undefined || last === undefined || points.length === 0) return first;
    points[0] = last;
    for (let place = 0; ;) {
      const left = 2 * place + 1;
      if (left >= points.length) return first;
      const right = left + 1;
      const child = right < points.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, place)) return first;
      this.#swap(place, child);
      place = child;
    }
  }

  #isBefore(left: number, right: number): boolean {
    const [a = 0, b = 0] = [this.#points[left], this.#points[right]];
    return (
      this.#urgency(a) - this.#urgency(b) < 0 || (this.#urgency(a) === this.#urgency(b) && a < b)
    );
  }

  #swap(left: number, right: number): void {
    const [a = 0, b = 0] = [this.#points[left], this.#points[right]];
    this.#points[left] = b;
    this.#points[right] = a;
  }
}
