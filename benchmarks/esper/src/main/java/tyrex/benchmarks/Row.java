package tyrex.benchmarks;

/** One event of a stream, whatever its type: a column that the type does not have is 0 or null. */
public final class Row {
    final String type;
    private final long ts;
    private final String area;
    private final int value;
    private final int kind;
    private final int state;

    Row(String type, long ts, String area, int value, int kind, int state) {
        this.type = type;
        this.ts = ts;
        this.area = area;
        this.value = value;
        this.kind = kind;
        this.state = state;
    }

    /** Milliseconds, as in the stream file. */
    public long getTs() {
        return ts;
    }

    public String getArea() {
        return area;
    }

    public int getValue() {
        return value;
    }

    public int getKind() {
        return kind;
    }

    public int getState() {
        return state;
    }
}
