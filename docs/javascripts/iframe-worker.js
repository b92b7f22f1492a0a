/* Browsers start no workers from files. Opened from a folder, the search runs in a hidden frame instead: it loads the
   same script, and messages go to and fro as they would with a worker. Nothing is done when a server sends the site. */
(() => {
  if (location.protocol !== "file:") return
  const inside = address => `<script>
    const listeners = []
    self.hear = data => { for (const heard of listeners) heard({data}) }
    self.addEventListener = (kind, heard) => { if (kind === "message") listeners.push(heard) }
    self.postMessage = data => frameElement.answer(data)
    self.importScripts = (...more) => Promise.all(more.map(src => new Promise((done, failed) => {
      const script = document.createElement("script")
      script.src = new URL(src, ${JSON.stringify(address)})
      script.onload = done, script.onerror = failed
      document.head.append(script)
    })))
  <\/script><script src="${address}"><\/script>`
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.frame.srcdoc = inside(new URL(url, location.href).href)
      this.frame.answer = data => this.dispatchEvent(new MessageEvent("message", {data}))
      this.frame.onload = () => {
        for (const data of this.waiting) this.frame.contentWindow.hear(data)
        this.waiting = null
      }
      document.body.append(this.frame)
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.frame.contentWindow.hear(data)
    }
    terminate() { this.frame.remove() }
  }
})()
