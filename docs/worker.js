/** Search in pages that are opened as files, where a browser starts no worker: a hidden frame does its work. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#ready = new Promise((done) => {
        this.#frame.onload = () => {
          const inside = this.#frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inside.document.createElement("script");
          script.onload = () => done(inside);
          script.src = url;
          inside.document.head.append(script);
        };
      });
      document.body.append(this.#frame);
    }

    async postMessage(data) {
      (await this.#ready).dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
