/** What the keyboard does. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const keysName = "tidemark-console-keys";

export function Help(props: {
  readonly views: readonly string[];
  readonly close: () => void;
}): JSX.Element {
  const { views, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOff, setIsOff] = useState(sessionStorage.getItem(keysName) === "off");
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Keyboard">
      <h2>Keyboard</h2>
      <dl class="keys-list">
        {views.map((title, at) => (
          <div key={title}>
            <dt>
              <kbd>{at + 1}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>to the search for a transaction or a table</dd>
        </div>
        <div>
          <dt>
            <kbd>p</kbd>
          </dt>
          <dd>pause the log, and go on</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>this</dd>
        </div>
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={!isOff}
          onChange={(event) => {
            const off = !event.currentTarget.checked;
            setIsOff(off);
            sessionStorage.setItem(keysName, off ? "off" : "on");
          }}
        />{" "}
        single keys work where nobody types
      </label>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
